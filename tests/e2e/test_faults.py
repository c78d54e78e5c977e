"""What goes wrong between an operator and its API server: no pod is lost, none is bound twice, and it is said once."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from controlplane.component import Component, Endpoint
from e2e.case import Case, case_of
from e2e.clusters import Manifest, as_text, eventually
from e2e.served import Served, served
from moorage.api.crd import render
from moorage.sandbox.injected_faults import Delay, End, Expire, Fail, Garbage, Reset, Stall
from processes import operator, started

pytestmark = pytest.mark.slow

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/moorage"
SLOW = 60.0
"""Seconds for what takes a backoff or two."""
QUICK_LEASE = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 500ms}
"""

RESYNCS_OFTEN = """
import asyncio, sys
from pathlib import Path
from moorage.app.operator import Operator
from moorage.configuration.process_configuration import ProcessConfiguration
from moorage.settings import Settings

settings = Settings(kubeconfig=Path(sys.argv[1]), port=int(sys.argv[2]), policy_resync_seconds=1)
sys.exit(asyncio.run(Operator(ProcessConfiguration(settings=settings)).run()))
"""
"""An interval that no flag sets."""


class World:
    """An API server to be disturbed, operators of it, and pods that wait for them."""

    def __init__(self, api: Served, case: Case) -> None:
        self.api = api
        self.case = case

    def operator(self, name: str = "moorage", *, ready: str = "/readyz") -> Component:
        """Start an operator with a lease that is soon over."""
        cluster = self.api.cluster
        config = cluster.directory / "config.yaml"
        config.write_text(QUICK_LEASE, encoding="utf-8")
        flags = (f"--config={config}",)
        return started(operator(cluster.kubeconfig, cluster.directory, cluster.ports, *flags, name=name, ready=ready))

    def operator_that_resyncs_often(self) -> Component:
        """Start an operator that lists all policies every second."""
        cluster = self.api.cluster
        port = cluster.ports.take()
        command = [sys.executable, "-c", RESYNCS_OFTEN, str(cluster.kubeconfig), str(port)]
        endpoint = Endpoint(f"http://127.0.0.1:{port}", ("/readyz",))
        return started(Component(command, cluster.directory / "moorage.log", endpoint))

    def burst(self, count: int, cpu: str = "100m") -> None:
        """Create pods that go to any node, all in one go."""
        pods = [self.case.pod(f"p{number}", requests={"cpu": cpu}) for number in range(count)]
        self.api.cluster.kubectl("create", "--filename=-", text=as_text(*pods))

    def bound(self) -> int:
        """Return how many pods are bound."""
        return sum("nodeName" in pod["spec"] for pod in self.case.pods())

    def all_bound(self, count: int, seconds: float = SLOW) -> None:
        """Wait until all pods are bound, and see that each was once."""
        eventually(lambda: len(self.api.bindings()) == count, seconds)
        assert set(self.api.bindings().values()) == {1}
        assert self.bound() == count

    def lease_holder(self) -> str:
        """Return who holds the lease, empty for nobody."""
        return str(self.case.reader.read(LEASE)["spec"].get("holderIdentity") or "")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with in_world(tmp_path) as world:
        yield world


@contextmanager
def in_world(directory: Path, **served_with: Any) -> Iterator[World]:
    """Serve what `served_with` says (`e2e.served.served`)."""
    with served(directory, **served_with) as api, case_of(api.cluster, "fault") as case:
        yield World(api, case)


def complaints(operator: Component) -> list[str]:
    """Return what the operator's log warns of."""
    lines = operator.log.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if " WARNING " in line or " ERROR " in line or "Traceback" in line]


def failed_requests(operator: Component) -> int:
    """Return how many requests of the operator got no answer."""
    lines = operator.endpoint.read("/metrics").splitlines()
    unanswered = [line for line in lines if line.startswith("rest_client_requests_total") and '"<error>"' in line]
    return sum(int(float(line.split()[-1])) for line in unanswered)


def test_an_operator_says_once_what_it_lacks_and_waits_for_it(tmp_path: Path) -> None:
    """No API server, then one that does not know the operator, then one without the CRD."""
    with in_world(tmp_path, with_crd=False) as world:
        world.api.pause()
        with world.operator(ready="/healthz") as moorage:
            eventually(lambda: failed_requests(moorage) > 60)
            world.api.fault(Fail(401), times=None)
            world.api.resume()
            eventually(lambda: "does not take our credentials (401)" in moorage.log_tail())
            world.api.heal()
            eventually(lambda: "SchedulingPolicy is not installed" in moorage.log_tail())
            world.case.cluster.apply(render())
            world.case.cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=10s")
            world.case.cluster.apply(world.case.policy())
            world.burst(3)
            world.all_bound(3)
            said = complaints(moorage)
    assert len(said) == len(LACKING), said
    assert all(sum(words in line for line in said) == 1 for words in LACKING), said


LACKING = (
    "does not answer; trying again, for ever",
    "does not take our credentials (401)",
    "SchedulingPolicy is not installed; `moorage crd | kubectl apply -f -` does it",
)


class TestOutages:
    """The API server goes while pods are bound, and comes back."""

    def test_what_was_under_way_is_finished_once_it_is_back(self, world: World) -> None:
        world.case.cluster.apply(world.case.policy())
        world.api.fault(Delay(0.05), path="/binding$", times=None)
        with world.operator() as moorage:
            world.burst(60)
            eventually(lambda: len(world.api.bindings()) > 5)
            world.api.pause()
            eventually(lambda: "does not answer" in moorage.log_tail())
            world.api.resume()
            world.all_bound(60)
            assert len([line for line in complaints(moorage) if "does not answer" in line]) == 1
            assert "Traceback" not in moorage.log.read_text(encoding="utf-8")

    def test_a_deletion_during_an_outage_is_not_missed(self, world: World) -> None:
        """No watch tells of it: when kopf lists anew, what is gone is just not there."""
        world.case.cluster.apply(world.case.policy())
        with world.operator_that_resyncs_often() as moorage:
            eventually(world.case.is_live)
            world.api.fault(Fail(500), verb="list", path="/schedulingpolicies", times=None)
            world.api.fault(Expire(), verb="watch", path="/schedulingpolicies", times=None)
            world.api.pause()
            world.api.resume()
            world.case.cluster.kubectl("delete", "schedulingpolicy", world.case.name, "--wait=false")
            world.api.heal()
            eventually(lambda: not json.loads(moorage.endpoint.read("/debug/cache"))["profiles"], SLOW)
            world.burst(1)
            world.case.told("p0", "NoSchedulingPolicy")
        assert world.bound() == 0


class TestRefusals:
    """The API server answers, but not as one would wish."""

    def test_five_hundred_pods_survive_everything_at_once(self, tmp_path: Path) -> None:
        """Nodes have room for 520 of them: one counted twice or not at all would show."""
        with in_world(tmp_path, nodes=20) as world, world.operator() as moorage:
            world.case.cluster.apply(world.case.policy())
            disturb(world.api)
            world.burst(500, cpu="600m")
            world.all_bound(500, seconds=60)
            pods = world.case.pods()
            assert all(pod["status"]["phase"] != "Failed" for pod in pods), "a node was overcommitted"
            assert max(Counter(pod["spec"]["nodeName"] for pod in pods).values()) <= 26
            assert "Traceback" not in moorage.log.read_text(encoding="utf-8")
            moorage.stop()
            assert moorage.exit_code == 0

    def test_a_start_in_the_middle_of_it_only_takes_longer(self, world: World) -> None:
        for path in ("/schedulingpolicies", "/pods", "/nodes"):
            for fault in (Garbage(), Garbage(b"{}"), Garbage(b'{"items": 7}'), Fail(401), Fail(500), Expire()):
                world.api.fault(fault, verb="list", path=path)
        for code in (403, 409, 410, 429, 503):
            world.api.fault(Fail(code, retry_after_seconds=code == 429), verb="list", times=20)
        world.case.cluster.apply(world.case.policy())
        with world.operator() as moorage:
            world.burst(3)
            world.all_bound(3)
            assert "Traceback" not in moorage.log.read_text(encoding="utf-8")

    def test_an_end_of_the_watch_of_policies_is_told_in_one_line_and_the_watch_begins_again(self, world: World) -> None:
        """kopf gives up on a 403; whoever starts it again must not miss what happens then."""
        world.api.fault(Fail(403), verb="watch", path="/schedulingpolicies", times=4)
        with world.operator() as moorage:
            eventually(lambda: "the watch of SchedulingPolicies ended" in moorage.log.read_text(encoding="utf-8"))
            world.case.cluster.apply(world.case.policy())
            eventually(world.case.is_live, SLOW)
            assert len(complaints(moorage)) == 1, complaints(moorage)

    def test_what_no_api_server_should_hold_is_left_out_and_everything_else_goes_on(self, world: World) -> None:
        """Objects of a newer version, or of none: the operator reads what it can."""
        strange: list[Manifest] = [
            {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [UNKNOWN]}]}}}},
            {"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone", "labelSelector": SELECTOR}]}}},
            {"tolerations": [{"key": "a", "operator": "Resembles"}]},
            {"topologySpreadConstraints": [{"maxSkew": -1, "topologyKey": "", "whenUnsatisfiable": "Perhaps"}]},
            {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "much"}}}]},
            {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "-5"}}}]},
            {"containers": None},
            {"priority": "high"},
        ]
        world.case.cluster.apply(world.case.policy())
        with world.operator() as moorage:
            for number, spec in enumerate(strange):
                world.api.put("pods.", world.case.pod(f"strange-{number}", **spec), namespace="default")
            for number, allocatable in enumerate(({"cpu": "-4", "pods": "many"}, None, {"cpu": "1e400"})):
                world.api.put("nodes.", world.case.node(f"strange-{number}", allocatable=allocatable))
            world.api.put("nodes.", world.case.node("bare") | {"status": None})
            world.burst(10)
            eventually(lambda: sum("nodeName" in pod["spec"] for pod in plain(world)) == 10)
            log = moorage.log.read_text(encoding="utf-8")
            assert "Traceback" not in log
            assert "unforeseen" not in log
            assert moorage.endpoint.ready()
            assert {pod["spec"]["nodeName"].partition("-")[0] for pod in plain(world)} == {"equal"}

    def test_silent_watches_cost_nothing_but_time(self, world: World) -> None:
        world.case.cluster.apply(world.case.policy())
        with world.operator():
            eventually(world.case.is_live)
            world.api.fault(Stall(), path="/pods", times=None)
            world.burst(10)
            world.api.heal()
            world.all_bound(10)


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
UNKNOWN = {"key": "a", "operator": "Resembles", "values": ["b"]}
SELECTOR = {"matchExpressions": [UNKNOWN]}


def plain(world: World) -> list[Manifest]:
    """Return the pods with nothing strange about them."""
    return [pod for pod in world.case.pods() if "strange" not in pod["metadata"]["name"]]


def disturb(api: Served) -> None:
    """Put about every fault in force, each for a number of requests."""
    for digit, code in enumerate((401, 403, 409, 410, 429, 500, 503)):
        api.fault(Fail(code, retry_after_seconds=code == 429), verb="create", path=f"{digit}/binding$", times=40)
    api.fault(Reset(handled=True), path="7/binding$", times=40)
    api.fault(Garbage(), path="8/binding$", times=5)
    for code in (403, 409, 429, 500):
        api.fault(Fail(code), verb="create", path="/events$", times=20)
        api.fault(Fail(code), verb="patch", path="/status", times=5)
    for fault in (End(0.1), Expire(), Reset(handled=True), Fail(500), Fail(429, retry_after_seconds=1), Garbage()):
        api.fault(fault, verb="watch", path="/pods", times=2)
        api.fault(fault, verb="watch", path="/nodes", times=1)
        api.fault(fault, verb="watch", path="/schedulingpolicies", times=1)


class TestStops:
    """Operators that go, cleanly or not, and those who come after them."""

    def test_on_sigterm_what_is_being_bound_is_finished_and_the_lease_released(self, world: World) -> None:
        world.case.cluster.apply(world.case.policy())
        world.api.fault(Delay(0.2), path="/binding$", times=None)
        with world.operator() as moorage:
            world.burst(40)
            eventually(lambda: len(world.api.bindings()) > 3)
            moorage.stop()
            assert moorage.exit_code == 0
            assert world.lease_holder() == ""
            bound = world.bound()
            assert 3 < bound == len(world.api.bindings())
        world.api.heal()
        with world.operator("successor"):
            world.all_bound(40)

    def test_a_standby_takes_over_from_a_leader_that_is_frozen_and_both_bind_nothing_twice(self, world: World) -> None:
        world.case.cluster.apply(world.case.policy())
        with world.operator("leader") as leader:
            eventually(lambda: bool(world.lease_holder()))
            holder = world.lease_holder()
            with world.operator("standby") as standby:
                world.api.fault(Delay(0.2), path="/binding$", times=None)
                world.burst(40)
                eventually(lambda: len(world.api.bindings()) > 3)
                leader.pause()
                eventually(lambda: world.lease_holder() not in {holder, ""}, SLOW)
                leader.resume()
                world.all_bound(40)
                eventually(lambda: "stopped leading" in leader.log.read_text(encoding="utf-8"))
                assert "became leader" in standby.log.read_text(encoding="utf-8")
                assert "Traceback" not in "".join(each.log.read_text(encoding="utf-8") for each in (leader, standby))


class TestRealApiServer:
    """The same of a real API server, where only a crash can be had."""

    @pytest.mark.parametrize(
        "nodes_only", [pytest.param("kube-apiserver", marks=pytest.mark.controlplane)], indirect=True, scope="session"
    )
    def test_a_crash_of_it_costs_no_pod(self, case: Case) -> None:
        apiserver, count = case.cluster.apiserver, 60
        assert apiserver is not None
        case.live()
        case.cluster.kubectl("create", "--filename=-", text=as_text(*(case.pod(f"p{n}") for n in range(count))))
        apiserver.kill()
        apiserver.start()
        eventually(lambda: sum("nodeName" in pod["spec"] for pod in case.pods()) == count, SLOW)
        case.live(paused=False, preset="BinPack")
        case.cluster.apply(case.pod("later"))
        assert case.bound("later")
        case.cluster.kubectl("delete", "schedulingpolicy", case.name)
        case.cluster.apply(case.pod("latest"))
        case.told("latest", "NoSchedulingPolicy")
