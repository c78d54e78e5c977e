"""KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) as models, with upstream's defaults and rules.

Upstream: staging/src/k8s.io/kube-scheduler/config/v1/types.go, pkg/scheduler/apis/config/v1/defaults.go and
pkg/scheduler/apis/config/validation/validation.go. `component_config` reads the file, knows the lines, and
checks what is between profiles: their names.

Different from upstream: without profiles there are none, where kube-scheduler has one named default-scheduler; and the
Lease has a name of its own, so that moorage and kube-scheduler never wait for each other.
"""

from collections.abc import Callable
from math import floor
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from moorage.api.base import ApiModel, LabelValue, ListOf, Rule, map_list
from moorage.api.duration import GoDuration, parse_duration
from moorage.api.extender import Extender, repeated_resources
from moorage.api.plugins import INT32_MAX, PluginConfig, Plugins, PluginSet

API_VERSION: Literal["kubescheduler.config.k8s.io/v1"] = "kubescheduler.config.k8s.io/v1"
KIND: Literal["KubeSchedulerConfiguration"] = "KubeSchedulerConfiguration"

DEFAULT_QPS = 50.0
DEFAULT_BURST = 100
DEFAULT_LEASE_NAME = "moorage"
DEFAULT_LEASE_NAMESPACE = "kube-system"
"""As upstream's; leases there have a priority level of their own in the API server."""
RETRY_JITTER = 1.2
"""The leader retries after up to 1.2 times retryPeriod (upstream leaderelection.JitterFactor)."""

Percentage = Annotated[int, Field(ge=0, le=100)]
Int32 = Annotated[int, Field(ge=0, le=INT32_MAX)]


class ClientConnection(ApiModel):
    """How the API server is reached, and how often."""

    kubeconfig: str = ""
    """A kubeconfig file; empty: the service account of the pod."""
    accept_content_types: str = ""
    """Accepted for compatibility; moorage speaks JSON."""
    content_type: str = ""
    """Accepted for compatibility; moorage speaks JSON."""
    qps: Annotated[float, Field(allow_inf_nan=False), AfterValidator(lambda qps: qps or DEFAULT_QPS)] = DEFAULT_QPS
    """Requests a second, on average; 0 means 50, below 0 there is no limit."""
    burst: Annotated[Int32, AfterValidator(lambda burst: burst or DEFAULT_BURST)] = DEFAULT_BURST
    """Requests at once, beyond the average; 0 means 100."""


def _timings(check: Callable[[float, float, float], bool]) -> Callable[["LeaderElection"], bool]:
    """Make a rule over lease duration, renew deadline and retry period, in seconds, where there is an election."""
    return lambda election: (
        not election.leader_elect
        or check(election.lease_duration_seconds, election.renew_deadline_seconds, election.retry_period_seconds)
    )


class LeaderElection(ApiModel):
    """Which of several replicas binds pods."""

    rules = (
        Rule(
            holds=_timings(lambda _lease, _renew, retry: retry > 0),
            message="must be longer than 0s",
            field="retryPeriod",
        ),
        Rule(
            holds=_timings(lambda _lease, renew, retry: renew > RETRY_JITTER * retry),
            message="must be longer than 1.2 times retryPeriod, or one late renewal loses the lease",
            field="renewDeadline",
        ),
        Rule(
            holds=_timings(lambda lease, renew, _retry: floor(lease) > renew),
            message="must be longer than renewDeadline in whole seconds, or two replicas could lead at once",
            field="leaseDuration",
        ),
        Rule(
            holds=lambda election: not election.leader_elect or election.resource_lock == "leases",
            message="must be leases; other locks were removed from Kubernetes",
            field="resourceLock",
        ),
    )

    leader_elect: bool = True
    """False: this process is alone, and binds without a lease."""
    lease_duration: GoDuration = "15s"
    """How long others wait after the last renewal that they saw."""
    renew_deadline: GoDuration = "10s"
    """How long the leader may go without a renewal before it stops."""
    retry_period: GoDuration = "2s"
    """How often the lease is renewed, or tried for."""
    resource_lock: str = "leases"
    """The kind of lock; only leases."""
    resource_name: Annotated[str, Field(min_length=1)] = DEFAULT_LEASE_NAME
    """The Lease's name."""
    resource_namespace: Annotated[str, Field(min_length=1)] = DEFAULT_LEASE_NAMESPACE
    """The Lease's namespace."""

    @property
    def lease_duration_seconds(self) -> float:
        """`leaseDuration` in seconds."""
        return parse_duration(self.lease_duration)

    @property
    def renew_deadline_seconds(self) -> float:
        """`renewDeadline` in seconds."""
        return parse_duration(self.renew_deadline)

    @property
    def retry_period_seconds(self) -> float:
        """`retryPeriod` in seconds."""
        return parse_duration(self.retry_period)


class KubeSchedulerProfile(ApiModel):
    """How the pods of one schedulerName are scheduled."""

    rules = (
        Rule(
            holds=lambda profile: len(profile.plugins.queue_sort.enabled) <= 1,
            message="only one queue sort plugin can be enabled",
            field="plugins.queueSort",
        ),
    )

    scheduler_name: LabelValue | None = None
    """What pods write as their schedulerName. May only be absent where there is one profile: then default-scheduler."""
    percentage_of_nodes_to_score: Percentage | None = None
    """As the process's field of this name, for this profile."""
    plugins: Plugins = Plugins()
    """Which plugins run at which extension point."""
    plugin_config: Annotated[tuple[PluginConfig, ...], ListOf, Field(json_schema_extra=map_list("name"))] = ()
    """Arguments of plugins."""


def _queue_sort(profile: KubeSchedulerProfile) -> PluginSet:
    return profile.plugins.queue_sort


class KubeSchedulerConfiguration(ApiModel):
    """The configuration of the process, and profiles that are live besides the policies."""

    rules = (
        Rule(
            holds=lambda configuration: configuration.backoff_grows or not configuration.says_max_backoff,
            message="must not be below podInitialBackoffSeconds",
            field="podMaxBackoffSeconds",
        ),
        Rule(
            holds=lambda configuration: configuration.backoff_grows or configuration.says_max_backoff,
            message="must not be above podMaxBackoffSeconds, which is 10 where it is not set",
            field="podInitialBackoffSeconds",
        ),
        Rule(
            holds=lambda configuration: all(
                _queue_sort(profile) == _queue_sort(configuration.profiles[0]) for profile in configuration.profiles
            ),
            message="plugins.queueSort must be the same in all profiles, since they share one queue",
            field="profiles",
        ),
        Rule(
            holds=lambda configuration: sum(1 for extender in configuration.extenders if extender.bind_verb) <= 1,
            message="only one extender can bind",
            field="extenders",
        ),
        Rule(
            holds=lambda configuration: not repeated_resources(configuration.extenders),
            message="a resource can be managed by one extender only",
            field="extenders",
        ),
    )

    api_version: Literal["kubescheduler.config.k8s.io/v1"] = API_VERSION
    """kubescheduler.config.k8s.io/v1."""
    kind: Literal["KubeSchedulerConfiguration"] = KIND
    """KubeSchedulerConfiguration."""
    client_connection: ClientConnection = ClientConnection()
    """How the API server is reached, and how often."""
    leader_election: LeaderElection = LeaderElection()
    """Which of several replicas binds pods."""
    parallelism: Annotated[int, Field(ge=1, le=INT32_MAX)] = 16
    """How many binds and extender calls run at once."""
    percentage_of_nodes_to_score: Percentage = 0
    """How many of the nodes must have been found to fit before ranking starts; 0: 50 % in small, 5 % in large ones."""
    pod_initial_backoff_seconds: Annotated[int, Field(ge=1, le=INT32_MAX)] = 1
    """How long a pod waits after its first failed attempt; the wait doubles from one to the next."""
    pod_max_backoff_seconds: Annotated[int, Field(ge=1, le=INT32_MAX)] = 10
    """The longest wait."""
    healthz_bind_address: str | None = None
    """Not a field of v1, though guides have it; accepted with a warning, and not used."""
    metrics_bind_address: str | None = None
    """Not a field of v1, though guides have it; accepted with a warning, and not used."""
    enable_profiling: bool = True
    """Accepted for compatibility; there are no Go profiles to serve."""
    enable_contention_profiling: bool = True
    """Accepted for compatibility; there are no Go profiles to serve."""
    delay_cache_until_active: bool = False
    """Accepted for compatibility; every replica keeps its cache warm."""
    profiles: Annotated[tuple[KubeSchedulerProfile, ...], ListOf] = ()
    """Profiles that are live besides the policies."""
    extenders: Annotated[tuple[Extender, ...], ListOf] = ()
    """Web services that all profiles ask besides their plugins."""

    @property
    def backoff_grows(self) -> bool:
        """Whether the longest backoff is not below the first."""
        return self.pod_max_backoff_seconds >= self.pod_initial_backoff_seconds

    @property
    def says_max_backoff(self) -> bool:
        """Whether the longest backoff was written, and so is the one to blame."""
        return "pod_max_backoff_seconds" in self.model_fields_set
