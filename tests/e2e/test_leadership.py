"""Leader election of two replicas: the API server's audit log shows which replica binds, and when."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from controlplane.component import Component
from e2e.audited import REPLICAS, Audited, Write
from e2e.case import Case, case_of
from e2e.clusters import as_text, eventually
from e2e.gateway import gateway
from processes import moorage

pytestmark = [pytest.mark.controlplane, pytest.mark.slow]

FIRST, SECOND = REPLICAS
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/moorage"
LEASE_EVENTS = "/apis/events.k8s.io/v1/namespaces/kube-system/events"
LEASE_SECONDS, RENEW_SECONDS = 4, 2.5
QUICK_LEASE = f"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {{qps: 60, burst: 30}}
leaderElection: {{leaseDuration: {LEASE_SECONDS}s, renewDeadline: {RENEW_SECONDS}s, retryPeriod: 500ms}}
"""
"""A configuration with a short lease. Its `qps` and `burst` spread the bindings over some seconds."""
NETWORK_SECONDS = LEASE_SECONDS - RENEW_SECONDS
"""A write that starts before the renew deadline may arrive at the API server until the lease expires."""
FAILOVER_SECONDS = 2.0
"""The promised limit for a takeover by the standby after the lease expires or the leader stops."""
numbers = count(1)


class Replicas:
    """Operators that share a lease, and the pods that they bind."""

    def __init__(self, audited: Audited, case: Case, directory: Path) -> None:
        self.audited = audited
        self.case = case
        self.config = directory / "config.yaml"
        self.config.write_text(QUICK_LEASE, encoding="utf-8")
        self.directory = directory

    def start(self, user: str, *flags: str, kubeconfig: Path | None = None) -> Component:
        """Start a replica. Return when it is ready; The replica may lead or be a standby."""
        ports = self.audited.cluster.ports
        config = kubeconfig or self.audited.control_plane.kubeconfig_of(user)
        flags = flags or (f"--config={self.config}",)
        return moorage(config, self.directory, ports, *flags, name=user)

    def start_leader(self, user: str, *flags: str, kubeconfig: Path | None = None) -> Component:
        """Start a replica and wait until it leads."""
        replica = self.start(user, *flags, kubeconfig=kubeconfig)
        eventually(lambda: "became leader" in log_of(replica))
        return replica

    @contextmanager
    def load(self, name: str, pods: int) -> Iterator[None]:
        """Create pods in the background. Run the block when ten are bound. Then check that each pod was bound once."""
        text = as_text(*(self.case.pod(f"{name}-{number}") for number in range(pods)))
        creating = threading.Thread(target=self.audited.cluster.run, args=("create", "-f-"), kwargs={"text": text})
        creating.start()
        eventually(lambda: len(self.bindings(name)) >= 10)
        yield
        creating.join()
        eventually(lambda: self._bound(name) == pods, 60)
        assert set(Counter(one.name for one in self.bindings(name)).values()) == {1}, "a pod was bound twice"

    def bindings(self, name: str, user: str = "") -> list[Write]:
        return self.audited.bindings(f"{self.case.name}-{name}-", user)

    def _bound(self, name: str) -> int:
        pods = [pod for pod in self.case.pods() if pod["metadata"]["name"].startswith(f"{self.case.name}-{name}-")]
        return sum("nodeName" in pod["spec"] for pod in pods)

    def renewals(self, user: str) -> list[Write]:
        return [one for one in self.audited.writes("leases", "moorage") if one.user == user]

    def holder(self) -> str:
        return str(self.case.reader.read(LEASE)["spec"].get("holderIdentity") or "")


@pytest.fixture
def replicas(audited: Audited, tmp_path: Path) -> Iterator[Replicas]:
    with replicas_in(audited, tmp_path) as replicas:
        replicas.case.cluster.apply(replicas.case.policy())
        yield replicas


@contextmanager
def replicas_in(audited: Audited, directory: Path) -> Iterator[Replicas]:
    with case_of(audited.cluster, f"lead-{next(numbers)}") as case:
        yield Replicas(audited, case, directory)


def test_the_standby_binds_within_the_lease_and_two_seconds_after_the_leader_crashes(replicas: Replicas) -> None:
    with replicas.start_leader(FIRST) as leader, replicas.start(SECOND) as standby:
        first_holder = replicas.holder()
        assert standby.endpoint.read("/readyz") == "ok"
        assert master_status(leader, standby) == [1.0, 0.0]
        assert first_holder in replicas.audited.cluster.kubectl("get", "lease", "moorage", "-n", "kube-system")
        with replicas.load("crash", 120):
            assert replicas.bindings("crash", SECOND) == []
            leader.kill()
            killed = time.time()

        taken_over = replicas.bindings("crash", SECOND)[0].seconds - killed
        print(f"\nthe standby bound {taken_over:.2f} s after kill -9; the lease lasts {LEASE_SECONDS} s")
        assert taken_over < LEASE_SECONDS + FAILOVER_SECONDS
        assert replicas.holder() not in {first_holder, ""}
        assert replicas.case.reader.read(LEASE)["spec"]["leaseTransitions"] >= 1
        for holder in (first_holder, replicas.holder()):
            eventually(partial(has_lease_event, replicas, f"{holder} became leader"))


def test_the_standby_binds_within_two_seconds_after_the_leader_stops(replicas: Replicas) -> None:
    """The replicas have the default timings, unlike in the other tests, and a pod waits for its volume."""
    with replicas.start_leader(FIRST, "--leader-elect") as leader, replicas.start(SECOND, "--leader-elect"):
        holder = replicas.holder()
        create_pod_with_unprovisioned_volume(replicas.case)
        with replicas.load("stop", 300):
            stopped = time.time()
            leader.stop()
            assert leader.exit_code == 0

        theirs, ours = replicas.bindings("stop", FIRST), replicas.bindings("stop", SECOND)
        taken_over = ours[0].seconds - stopped
        last = theirs[-1].seconds - stopped
        print(
            f"\nthe standby bound {taken_over:.2f} s after SIGTERM; the leader's last binding came after {last:.2f} s"
        )
        assert theirs[-1].seconds < ours[0].seconds
        assert taken_over < FAILOVER_SECONDS
        eventually(partial(has_lease_event, replicas, f"{holder} stopped leading"))


def test_a_leader_that_cannot_renew_stops_binding_before_the_standby_begins(replicas: Replicas) -> None:
    direct = replicas.audited.control_plane.kubeconfig_of(FIRST)
    through = replicas.directory / "through.kubeconfig"
    with (
        gateway(direct, through) as proxy,
        replicas.start_leader(FIRST, f"--config={replicas.config}", kubeconfig=through) as leader,
        replicas.start(SECOND) as standby,
    ):
        with replicas.load("cut", 200):
            proxy.lose("/leases/")
            eventually(lambda: "became leader" in log_of(standby))
        proxy.heal()

        theirs, ours = replicas.bindings("cut", FIRST), replicas.bindings("cut", SECOND)
        last_renewal = replicas.renewals(FIRST)[-1].seconds
        takeover = next(one.seconds for one in replicas.renewals(SECOND) if one.seconds > last_renewal)
        last = theirs[-1].seconds - last_renewal
        print(
            f"\ncut off, the leader bound for {last:.2f} s after its last renewal;"
            f" the other one took the lease after {takeover - last_renewal:.2f} s"
        )
        assert last < RENEW_SECONDS + NETWORK_SECONDS
        for resource in ("pods/status", "schedulingpolicies/status", "events"):
            written = [one for one in replicas.audited.answers(resource) if one.user == FIRST]
            late = [one for one in written if one.seconds > last_renewal + RENEW_SECONDS + NETWORK_SECONDS]
            assert [one for one in late if not one.name.startswith("moorage.")] == [], (
                "after the renew deadline, the first replica may write only the event of the lease"
            )
            assert written or resource == "pods/status"
        assert theirs[-1].seconds < takeover < ours[0].seconds
        eventually(lambda: "stopped leading" in log_of(leader))
        assert leader.running
        assert "Traceback" not in log_of(leader) + log_of(standby)


def test_no_replica_leads_while_the_api_server_is_frozen_and_one_leads_afterwards(replicas: Replicas) -> None:
    apiserver = replicas.audited.cluster.apiserver
    assert apiserver is not None
    with replicas.start_leader(FIRST) as leader, replicas.start(SECOND) as standby:
        with replicas.load("frozen", 120):
            apiserver.pause()
            try:
                eventually(lambda: "stopped leading" in log_of(leader))
                assert master_status(leader, standby) == [0.0, 0.0]
            finally:
                apiserver.resume()
        assert sum(master_status(leader, standby)) == 1
        assert "Traceback" not in log_of(leader) + log_of(standby)


def create_pod_with_unprovisioned_volume(case: Case) -> None:
    """Create a pod whose claim is never provisioned. Wait until the operator has selected a node for the claim."""
    metadata = {"name": case.name, "labels": case.labels()}
    late = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata}
    spec = {
        "storageClassName": case.name,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": case.name}}]
    case.cluster.apply(
        {**late, "provisioner": "example.com/none", "volumeBindingMode": "WaitForFirstConsumer"},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec},
        case.pod("waits", volumes=volumes),
    )
    claim = f"/api/v1/namespaces/default/persistentvolumeclaims/{case.name}"
    selected = "volume.kubernetes.io/selected-node"
    eventually(lambda: bool(case.reader.read(claim)["metadata"]["annotations"][selected]))


def log_of(replica: Component) -> str:
    return replica.log.read_text(encoding="utf-8")


def has_lease_event(replicas: Replicas, note: str) -> bool:
    events = replicas.case.reader.read(LEASE_EVENTS)["items"]
    return any(event["note"] == note and event["regarding"]["kind"] == "Lease" for event in events)


def master_status(*replicas: Component) -> list[float]:
    metric = 'leader_election_master_status{name="moorage"} '
    lines = [line for each in replicas for line in each.endpoint.read("/metrics").splitlines() if metric in line]
    return [float(line.removeprefix(metric)) for line in lines]
