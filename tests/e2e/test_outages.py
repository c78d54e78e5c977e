"""API server outages: the operator waits, loses no pod, and logs each problem once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controlplane.component import ControlPlaneError
from e2e.case import Case
from e2e.clusters import as_text, eventually
from e2e.faults import SLOW, World, failed_requests, in_world, problems
from moorage.api.crd import render
from moorage.sandbox.injected_faults import Delay, Expire, Fail

pytestmark = pytest.mark.slow


def test_an_operator_logs_each_missing_precondition_once_and_waits_for_it(tmp_path: Path) -> None:
    """First, no API server runs. Then the API server refuses the credentials. Then it lacks the CRD."""
    with in_world(tmp_path, with_crd=False) as world:
        world.api.pause()
        with world.operator(ready="/healthz") as moorage:
            eventually(lambda: failed_requests(moorage) > 60)
            world.api.fault(Fail(401), times=None)
            world.api.resume()
            eventually(lambda: "credentials (401)" in moorage.log_tail())
            world.api.heal()
            eventually(lambda: "SchedulingPolicy is not installed" in moorage.log_tail())
            world.case.cluster.apply(render())
            world.case.cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=10s")
            world.case.cluster.apply(world.case.policy())
            world.burst(3)
            world.wait_until_all_bound(3)
            logged = problems(moorage)
    assert len(logged) == len(MISSING), logged
    assert all(sum(words in line for line in logged) == 1 for words in MISSING), logged


MISSING = ("does not answer", "credentials (401)", "SchedulingPolicy is not installed")
"""For each precondition, words from its log line."""


def test_readiness_shows_that_the_credentials_are_rejected(world: World) -> None:
    world.case.cluster.apply(world.case.policy())
    with world.operator() as moorage:
        eventually(moorage.endpoint.ready)
        world.api.fault(Fail(401), times=None)
        with pytest.raises(ControlPlaneError, match=r"\[-\]api-server .* rejects the credentials \(401\)"):
            eventually(lambda: not moorage.endpoint.read("/readyz"))
        world.api.heal()
        eventually(moorage.endpoint.ready)


def test_preemption_waits_while_a_restarted_api_server_refuses_budgets(world: World) -> None:
    case, priority = world.case, {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000}
    case.cluster.apply({**priority, "metadata": {"name": "above", "labels": case.labels()}}, case.policy())
    with world.operator() as moorage:
        world.burst(4, cpu="9")
        world.wait_until_all_bound(4)
        world.api.fault(Fail(403), path="/poddisruptionbudgets", times=None)
        world.api.pause()
        world.api.resume()
        case.cluster.apply(case.pod("high", requests={"cpu": "9"}, priorityClassName="above"))
        eventually(lambda: "waits for disruption budgets" in case.wait_for_event("high", "FailedScheduling"))
        assert world.bound_count() == 4
        world.api.heal()
        assert case.wait_until_bound("high", SLOW)
        eventually(moorage.endpoint.ready)


def test_the_operator_finishes_started_bindings_after_an_outage(world: World) -> None:
    world.case.cluster.apply(world.case.policy())
    world.api.fault(Delay(0.05), path="/binding$", times=None)
    with world.operator() as moorage:
        world.burst(60)
        eventually(lambda: len(world.api.bindings()) > 5)
        world.api.pause()
        eventually(lambda: "does not answer" in moorage.log_tail())
        world.api.resume()
        world.wait_until_all_bound(60)
        assert len([line for line in problems(moorage) if "does not answer" in line]) == 1
        assert "Traceback" not in moorage.log.read_text(encoding="utf-8")


def test_a_policy_deleted_during_an_outage_is_removed(world: World) -> None:
    """No watch event reports the deletion. The operator must notice that kopf's next list lacks the policy."""
    world.case.cluster.apply(world.case.policy())
    with world.operator_with_short_resync() as moorage:
        eventually(world.case.is_live)
        world.api.fault(Fail(500), verb="list", path="/schedulingpolicies", times=None)
        world.api.fault(Expire(), verb="watch", path="/schedulingpolicies", times=None)
        world.api.pause()
        world.api.resume()
        world.case.cluster.kubectl("delete", "schedulingpolicy", world.case.name, "--wait=false")
        world.api.heal()
        eventually(lambda: not json.loads(moorage.endpoint.read("/debug/cache"))["profiles"], SLOW)
        world.burst(1)
        world.case.wait_for_event("p0", "SchedulingPolicyNotFound")
    assert world.bound_count() == 0


@pytest.mark.parametrize(
    "nodes_only", [pytest.param("kube-apiserver", marks=pytest.mark.controlplane)], indirect=True, scope="session"
)
def test_no_pod_is_lost_when_a_real_api_server_crashes(case: Case) -> None:
    apiserver, count = case.cluster.apiserver, 60
    assert apiserver is not None
    case.make_live()
    case.cluster.kubectl("create", "--filename=-", text=as_text(*(case.pod(f"p{n}") for n in range(count))))
    apiserver.kill()
    apiserver.start()
    eventually(lambda: sum("nodeName" in pod["spec"] for pod in case.pods()) == count, SLOW)
    case.make_live(paused=False, preset="BinPack")
    case.cluster.apply(case.pod("later"))
    assert case.wait_until_bound("later")
    case.cluster.kubectl("delete", "schedulingpolicy", case.name)
    case.cluster.apply(case.pod("latest"))
    case.wait_for_event("latest", "SchedulingPolicyNotFound")
