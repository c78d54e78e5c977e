"""The settings of the process, from flags and from the configuration file. The file's profiles are not part of them.

The classes hold plain values only. The code that constructs them checks the values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

SECURE_PORT = 10259
"""kube-scheduler's port."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderElectionSettings:
    """The Lease and its timings in seconds: lease duration > renew deadline > 1.2 x retry period."""

    enabled: bool = True
    lease_duration_seconds: float = 15.0
    renew_deadline_seconds: float = 10.0
    retry_period_seconds: float = 2.0
    lease_name: str = "moorage"
    lease_namespace: str = "kube-system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings in force."""

    kubeconfig: Path | None = None
    """None means the first of $KUBECONFIG, the service account and ~/.kube/config that exists."""
    context: str | None = None
    """The context of the kubeconfig. None means its current context."""
    bind_address: str = "127.0.0.1"
    port: int = SECURE_PORT
    """0 means any free port. The log shows the port."""
    serve_plain_http: bool = False
    """Serve plain HTTP without authorization even if the address is not loopback."""
    tls_cert_file: Path | None = None
    """The serving certificate. None means a self-signed certificate that is created at startup."""
    tls_private_key_file: Path | None = None
    qps: float = 0.0
    """The client's limit of writes per second. 0 means no limit of the client; the API server's Priority and Fairness
    still limits writes."""
    burst: int = 0
    parallelism: int = 16
    """The limit of simultaneous bindings and extender calls."""
    policy_resync_seconds: float = 60.0
    """The interval at which the operator lists all policies, to find deletions that the watch missed."""
    seed: int | None = None
    """The seed of the choice among equally good nodes. None means a random seed. The log shows the seed."""
    allow_default_scheduler: bool = False
    """Whether the schedulerName default-scheduler is allowed for profiles of the configuration file, and for policies
    with `allowDefaultScheduler: true`."""
    reserved_scheduler_names: tuple[str, ...] = ()
    """Shell patterns. No policy may have a schedulerName that matches one of them."""
    forbid_canaries: bool = False
    """Whether policies with `spec.canary` are refused."""
    policy_extenders: tuple[str, ...] = ()
    """The hosts that extenders of policies may have (`moorage.runtime.extenders.allowed_hosts`). If it is empty,
    policies may have no extenders."""
    policy_extender_tls_dir: Path | None = None
    """The directory of the files that extenders of policies may name. None means that they may name no files."""
    record: Path | None = None
    """The directory to which the engine's inputs and decisions are recorded. None means that nothing is recorded."""
    record_on_request: bool = False
    """Whether nothing is recorded before a request to /debug/recording."""
    record_bytes: int = 1 << 30
    """The maximum size of all recorded files together."""
    leader_election: LeaderElectionSettings = field(default_factory=LeaderElectionSettings)
    tls_strict: bool = False
    """Check servers' certificates strictly by RFC 5280, as Python 3.13 does and Go does not. The certificate
    authorities of several clouds fail this check."""
