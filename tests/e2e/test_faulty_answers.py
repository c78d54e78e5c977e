"""Faulty answers and invalid objects from the API server: the operator loses no pod and binds no pod twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from e2e.clusters import Manifest, eventually
from e2e.faults import SLOW, World, in_world, problems
from e2e.served import Served
from moorage.sandbox.injected_faults import End, Expire, Fail, Garbage, Reset, Stall

pytestmark = pytest.mark.slow


def test_five_hundred_pods_are_bound_once_despite_all_faults(tmp_path: Path) -> None:
    """The nodes have room for 520 pods. An operator that counts pods twice or not at all makes the test fail."""
    with in_world(tmp_path, nodes=20) as world, world.operator() as moorage:
        world.case.cluster.apply(world.case.policy())
        inject_faults(world.api)
        world.burst(500, cpu="600m")
        world.wait_until_all_bound(500, seconds=90)
        pods = world.case.pods()
        assert all(pod["status"]["phase"] != "Failed" for pod in pods), "a node has more pods than fit"
        assert max(Counter(pod["spec"]["nodeName"] for pod in pods).values()) <= 26
        assert "Traceback" not in moorage.log.read_text(encoding="utf-8")
        moorage.stop()
        assert moorage.exit_code == 0


def test_an_operator_starts_despite_faulty_lists(world: World) -> None:
    for path in ("/schedulingpolicies", "/pods", "/nodes"):
        for fault in (Garbage(), Garbage(b"{}"), Garbage(b'{"items": 7}'), Fail(401), Fail(500), Expire()):
            world.api.fault(fault, verb="list", path=path)
    for code in (403, 409, 410, 429, 503):
        world.api.fault(Fail(code, retry_after_seconds=code == 429), verb="list", times=20)
    world.case.cluster.apply(world.case.policy())
    with world.operator() as moorage:
        world.burst(3)
        world.wait_until_all_bound(3)
        assert "Traceback" not in moorage.log.read_text(encoding="utf-8")


def test_a_failed_watch_of_policies_is_logged_once_and_restarted(world: World) -> None:
    """kopf ends its watch on a 403. The restarted watch must find the policy of the test."""
    world.api.fault(Fail(403), verb="watch", path="/schedulingpolicies", times=None)
    with world.operator() as moorage:
        eventually(lambda: "The watch of SchedulingPolicies failed" in moorage.log.read_text(encoding="utf-8"))
        world.api.heal()
        world.case.cluster.apply(world.case.policy())
        eventually(world.case.is_live, SLOW)
        assert len(problems(moorage)) == 1, problems(moorage)


def test_invalid_objects_are_skipped_and_others_are_scheduled(world: World) -> None:
    """Some objects use values of a newer version of Kubernetes. Other objects are invalid in every version."""
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
        eventually(lambda: sum("nodeName" in pod["spec"] for pod in valid_pods(world)) == 10)
        assert "Traceback" not in moorage.log.read_text(encoding="utf-8")
        assert moorage.endpoint.ready()
        assert {pod["spec"]["nodeName"].partition("-")[0] for pod in valid_pods(world)} == {"equal"}


def test_pods_are_bound_after_watches_stall(world: World) -> None:
    world.case.cluster.apply(world.case.policy())
    with world.operator():
        eventually(world.case.is_live)
        world.api.fault(Stall(), path="/pods", times=None)
        world.burst(10)
        world.api.heal()
        world.wait_until_all_bound(10)


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
UNKNOWN = {"key": "a", "operator": "Resembles", "values": ["b"]}
SELECTOR = {"matchExpressions": [UNKNOWN]}


def valid_pods(world: World) -> list[Manifest]:
    """Return the valid pods."""
    return [pod for pod in world.case.pods() if "strange" not in pod["metadata"]["name"]]


def inject_faults(api: Served) -> None:
    """Inject faults of almost every kind, each for a number of requests."""
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
