"""Models of KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1), with upstream's defaults and rules.

Upstream: staging/src/k8s.io/kube-scheduler/config/v1/types.go, pkg/scheduler/apis/config/v1/defaults.go and
pkg/scheduler/apis/config/validation/validation.go. The module `loading` reads the file, and `profile_names` checks that
the names of profiles differ.

There are two differences from upstream. If a file has no profiles, kube-scheduler adds the profile default-scheduler;
moorage adds no profile. The Lease has another name, so that moorage and kube-scheduler never wait for each other.
"""

from collections.abc import Callable
from math import floor
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from moorage.api.base import ApiModel, LabelValue, ListOf, Rule, map_list
from moorage.api.duration import GoDuration, parse_duration
from moorage.api.extender import Extender, further_binders, repeated_resources
from moorage.api.plugin_config import INT32_MAX, PluginConfig, Plugins
from moorage.errors import Location

API_VERSION: Literal["kubescheduler.config.k8s.io/v1"] = "kubescheduler.config.k8s.io/v1"
KIND: Literal["KubeSchedulerConfiguration"] = "KubeSchedulerConfiguration"

DEFAULT_QPS = 50.0
DEFAULT_BURST = 100
DEFAULT_LEASE_NAME = "moorage"
DEFAULT_LEASE_NAMESPACE = "kube-system"
"""Upstream's namespace. The API server has a separate priority level for leases in this namespace."""
RETRY_JITTER = 1.2
"""A retry follows after at most 1.2 times retryPeriod (upstream leaderelection.JitterFactor)."""

Percentage = Annotated[int, Field(ge=0, le=100)]
Int32 = Annotated[int, Field(ge=0, le=INT32_MAX)]


class ClientConnection(ApiModel):
    """The connection to the API server and its rate limit."""

    kubeconfig: str = ""
    """Path of a kubeconfig file. If empty, moorage uses the service account of the pod."""
    accept_content_types: str = ""
    """Accepted for compatibility. Has no effect, because moorage uses JSON only."""
    content_type: str = ""
    """Accepted for compatibility. Has no effect, because moorage uses JSON only."""
    qps: Annotated[float, Field(allow_inf_nan=False), AfterValidator(lambda qps: qps or DEFAULT_QPS)] = DEFAULT_QPS
    """Average number of requests per second. 0 means 50; a negative number means no limit."""
    burst: Annotated[Int32, AfterValidator(lambda burst: burst or DEFAULT_BURST)] = DEFAULT_BURST
    """Number of requests that may exceed the average at once. 0 means 100."""


def _timings(check: Callable[[float, float, float], bool]) -> Callable[["LeaderElection"], bool]:
    """Return a check of lease duration, renew deadline and retry period. Without an election, the check succeeds."""
    return lambda election: (
        not election.leader_elect
        or check(election.lease_duration_seconds, election.renew_deadline_seconds, election.retry_period_seconds)
    )


class LeaderElection(ApiModel):
    """Election of the one replica that binds pods."""

    rules = (
        Rule(
            holds=_timings(lambda _lease, _renew, retry: retry > 0),
            message="must be longer than 0s",
            field="retryPeriod",
        ),
        Rule(
            holds=_timings(lambda _lease, renew, retry: renew > RETRY_JITTER * retry),
            message="must be longer than 1.2 times retryPeriod; otherwise one late renewal loses the lease",
            field="renewDeadline",
        ),
        Rule(
            holds=_timings(lambda lease, renew, _retry: floor(lease) > renew),
            message="must be longer than renewDeadline in whole seconds; otherwise two replicas could lead at once",
            field="leaseDuration",
        ),
        Rule(
            holds=lambda election: not election.leader_elect or election.resource_lock == "leases",
            message="must be leases; other locks were removed from Kubernetes",
            field="resourceLock",
        ),
    )

    leader_elect: bool = True
    """Whether to elect a leader. If false, this is the only replica, and it binds without a lease."""
    lease_duration: GoDuration = "15s"
    """Time that other replicas wait after the last renewal before they try to acquire the lease."""
    renew_deadline: GoDuration = "10s"
    """Time without a renewal after which the leader stops."""
    retry_period: GoDuration = "2s"
    """Interval between attempts to renew or to acquire the lease."""
    resource_lock: str = "leases"
    """Kind of lock; must be leases."""
    resource_name: Annotated[str, Field(min_length=1)] = DEFAULT_LEASE_NAME
    """Name of the Lease."""
    resource_namespace: Annotated[str, Field(min_length=1)] = DEFAULT_LEASE_NAMESPACE
    """Namespace of the Lease."""

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
    """Profile for the pods of one schedulerName."""

    rules = (
        Rule(
            holds=lambda profile: len(profile.plugins.queue_sort.enabled) <= 1,
            message="only one queue sort plugin can be enabled",
            field="plugins.queueSort.enabled",
        ),
    )

    scheduler_name: LabelValue | None = None
    """The schedulerName of the pods. If there is only one profile, the default is default-scheduler."""
    percentage_of_nodes_to_score: Percentage | None = None
    """Percentage for this profile. This field overrides the configuration's field of the same name."""
    plugins: Plugins = Plugins()
    """Plugins that are enabled and disabled at each extension point."""
    plugin_config: Annotated[tuple[PluginConfig, ...], ListOf, Field(json_schema_extra=map_list("name"))] = ()
    """Arguments of plugins."""


def _other_queue_sorts(profiles: tuple[KubeSchedulerProfile, ...]) -> list[Location]:
    """Return the locations of queue sort plugins that differ from the queue sort plugin of the first profile."""
    return [
        ("profiles", index, "plugins", "queueSort")
        for index, profile in enumerate(profiles)
        if profile.plugins.queue_sort != profiles[0].plugins.queue_sort
    ]


class KubeSchedulerConfiguration(ApiModel):
    """Configuration of the process, and profiles that are live in addition to the policies."""

    rules = (
        Rule(
            holds=lambda configuration: configuration.backoff_grows or not configuration.sets_max_backoff,
            message="must not be below podInitialBackoffSeconds",
            field="podMaxBackoffSeconds",
        ),
        Rule(
            holds=lambda configuration: configuration.backoff_grows or configuration.sets_max_backoff,
            message="must not be above podMaxBackoffSeconds, which is 10 by default",
            field="podInitialBackoffSeconds",
        ),
        Rule(
            holds=lambda configuration: not _other_queue_sorts(configuration.profiles),
            message="must be the same in all profiles, since they share one queue",
            locate=lambda configuration: _other_queue_sorts(configuration.profiles),
        ),
        Rule(
            holds=lambda configuration: not further_binders(configuration.extenders),
            message="only one extender can bind",
            locate=lambda configuration: further_binders(configuration.extenders),
        ),
        Rule(
            holds=lambda configuration: not repeated_resources(configuration.extenders),
            message="only one extender can manage a resource",
            locate=lambda configuration: repeated_resources(configuration.extenders),
        ),
    )

    api_version: Literal["kubescheduler.config.k8s.io/v1"] = API_VERSION
    """kubescheduler.config.k8s.io/v1."""
    kind: Literal["KubeSchedulerConfiguration"] = KIND
    """KubeSchedulerConfiguration."""
    client_connection: ClientConnection = ClientConnection()
    """Connection to the API server and its rate limit."""
    leader_election: LeaderElection = LeaderElection()
    """Election of the one replica that binds pods."""
    parallelism: Annotated[int, Field(ge=1, le=INT32_MAX)] = 16
    """Number of binds and extender calls that run at once."""
    percentage_of_nodes_to_score: Percentage = 0
    """Percentage of nodes that must fit before scoring starts. 0 means 50 % in small clusters, 5 % in large ones."""
    pod_initial_backoff_seconds: Annotated[int, Field(ge=1, le=INT32_MAX)] = 1
    """Backoff after a pod's first failed attempt, in seconds. Each further failure doubles the backoff."""
    pod_max_backoff_seconds: Annotated[int, Field(ge=1, le=INT32_MAX)] = 10
    """Longest backoff, in seconds."""
    healthz_bind_address: str | None = None
    """Not a field of v1, but common in guides. Accepted with a warning; has no effect."""
    metrics_bind_address: str | None = None
    """Not a field of v1, but common in guides. Accepted with a warning; has no effect."""
    enable_profiling: bool = True
    """Accepted for compatibility. Has no effect, because moorage has no Go profiles."""
    enable_contention_profiling: bool = True
    """Accepted for compatibility. Has no effect, because moorage has no Go profiles."""
    delay_cache_until_active: bool = False
    """Accepted for compatibility. Has no effect, because every replica keeps its cache warm."""
    profiles: Annotated[tuple[KubeSchedulerProfile, ...], ListOf] = ()
    """Profiles that are live in addition to the policies."""
    extenders: Annotated[tuple[Extender, ...], ListOf] = ()
    """Web services that all profiles call in addition to their plugins."""

    @property
    def backoff_grows(self) -> bool:
        """Whether the longest backoff is not shorter than the initial backoff."""
        return self.pod_max_backoff_seconds >= self.pod_initial_backoff_seconds

    @property
    def sets_max_backoff(self) -> bool:
        """Whether the file sets podMaxBackoffSeconds. If it does, a fault of the backoff belongs to this field."""
        return "pod_max_backoff_seconds" in self.model_fields_set
