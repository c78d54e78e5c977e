"""How the process runs: what flags and the configuration file say beyond profiles.

Plain values, checked by whoever made them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

SECURE_PORT = 10259
"""kube-scheduler's port."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderElectionSettings:
    """The Lease and its timings, in seconds; lease > renew deadline > 1.2 x retry period."""

    enabled: bool = True
    lease_duration_seconds: float = 15.0
    renew_deadline_seconds: float = 10.0
    retry_period_seconds: float = 2.0
    lease_name: str = "moorage"
    lease_namespace: str = "kube-system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The process's configuration in force."""

    kubeconfig: Path | None = None
    """None: $KUBECONFIG, else the service account, else ~/.kube/config."""
    context: str | None = None
    """The kubeconfig's context; None: its current one."""
    bind_address: str = "127.0.0.1"
    port: int = SECURE_PORT
    """0: a free one, which is printed."""
    serve_plain_http: bool = False
    """Serve without TLS, and to everybody, where the address is not loopback too."""
    tls_cert_file: Path | None = None
    """The serving certificate; without one a self-signed certificate is made."""
    tls_private_key_file: Path | None = None
    qps: float = 0.0
    """Writes a second that the client allows itself; 0: no limit, the API server's fairness decides."""
    burst: int = 0
    parallelism: int = 16
    """Bindings and extender calls at one time."""
    policy_resync_seconds: float = 60.0
    """How often all policies are listed: a deletion that nobody watched is found by then."""
    seed: int | None = None
    """Of the tie break among equal nodes; None: a random one, which is logged."""
    allow_default_scheduler: bool = False
    """Whether a profile of the configuration file may take the name default-scheduler."""
    leader_election: LeaderElectionSettings = field(default_factory=LeaderElectionSettings)
    tls_strict: bool = True
    """Verify certificates as strictly as Python 3.13 does; several clouds' own do not pass."""
