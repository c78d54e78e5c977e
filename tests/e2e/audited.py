"""A real cluster with an audit log, so that tests know the user and time of each write from the API server itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from certificates import Authority
from controlplane.launcher import CLUSTER_ADMINS, ControlPlane
from e2e.clusters import Cluster, real_cluster

REPLICAS = ("replica-1", "replica-2")
"""The users of the replicas, by which the audit log distinguishes them."""
CLIENTS = "clients"
"""The folder of a certificate authority, next to the audit log. The API server accepts its client certificates."""
POLICY: dict[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "Metadata",
            "verbs": ["create", "update", "patch", "delete"],
            "resources": [
                {"group": "", "resources": ["pods", "pods/binding", "pods/status", "pods/eviction"]},
                {"group": "coordination.k8s.io", "resources": ["leases"]},
                {"group": "scheduling.moorage.dev", "resources": ["schedulingpolicies/status"]},
                {"group": "events.k8s.io", "resources": ["events"]},
            ],
        },
        {"level": "None"},
    ],
}


@dataclass(frozen=True, slots=True)
class Write:
    """A write request and the status code of the answer."""

    user: str
    verb: str
    resource: str
    """The resource with its subresource, such as `pods/binding`."""
    name: str
    code: int
    seconds: float
    """The time of arrival, in seconds since the epoch."""


@dataclass(slots=True)
class Audited:
    """A cluster with an audit log, from which tests read the write requests."""

    cluster: Cluster
    log: Path
    _read: list[Write] = field(default_factory=list)
    _position: int = 0

    @property
    def control_plane(self) -> ControlPlane:
        """The control plane of the cluster."""
        assert self.cluster.control_plane is not None
        return self.cluster.control_plane

    def writes(self, resource: str, prefix: str = "") -> list[Write]:
        """Return the successful writes to objects whose names begin with `prefix`, in order of arrival."""
        return [one for one in self.answers(resource, prefix) if one.code < 400]

    def answers(self, resource: str, prefix: str = "") -> list[Write]:
        """Return successful and refused writes to objects whose names begin with `prefix`, in order of arrival."""
        self._read_new_entries()
        about = (one for one in self._read if one.resource == resource and one.name.startswith(prefix))
        return sorted(about, key=lambda one: one.seconds)

    def bindings(self, prefix: str, user: str = "") -> list[Write]:
        """Return successful bindings of pods with this name prefix. With `user`, return only bindings by this user."""
        return [one for one in self.writes("pods/binding", prefix) if user in {one.user, ""}]

    def _read_new_entries(self) -> None:
        """Read the new entries of the log, up to its last complete line."""
        with self.log.open("rb") as log:
            log.seek(self._position)
            whole, newline, _ = log.read().rpartition(b"\n")
        self._position += len(whole) + len(newline)
        self._read += (_write(json.loads(line)) for line in whole.splitlines())


@contextmanager
def audited_cluster(directory: Path) -> Iterator[Audited]:
    """Run a real API server with an audit log and a user for each replica."""
    policy, log = directory / "audit-policy.json", directory / "audit.log"
    policy.write_text(json.dumps(POLICY), encoding="utf-8")
    authority = Authority(directory / CLIENTS)
    flags = [f"--audit-policy-file={policy}", f"--audit-log-path={log}", f"--client-ca-file={authority.file}"]
    control_plane = ControlPlane(more_apiserver_flags=flags)
    for replica in REPLICAS:
        control_plane.add_user(replica, CLUSTER_ADMINS)
    with real_cluster(directory, control_plane) as cluster:
        yield Audited(cluster, log)


def _write(entry: dict[str, Any]) -> Write:
    about = entry["objectRef"]
    subresource = about.get("subresource")
    return Write(
        user=entry["user"]["username"],
        verb=entry["verb"],
        resource=f"{about['resource']}/{subresource}" if subresource else about["resource"],
        name=about.get("name", ""),
        code=entry["responseStatus"]["code"],
        seconds=datetime.fromisoformat(entry["requestReceivedTimestamp"]).timestamp(),
    )
