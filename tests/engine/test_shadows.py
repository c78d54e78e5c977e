"""A policy in mode Shadow decides about the pods of another scheduler. It binds no pods."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import strategies
from builders import node, pod
from engine.doubles import SCHEDULER
from engine.scheduler_driver import add_objects, kube_profile, run_until_idle, scheduler_of
from moorage.api.plugin_config import PluginConfig
from moorage.engine.messages import ProfileChanged, ProfileRemoved
from moorage.engine.outcomes import Bind, Held, HoldReason, ShadowDecision, ShadowVerdict, Unschedulable
from moorage.engine.recorder import Recorder
from moorage.engine.scheduler import Scheduler
from moorage.engine.shadows import MAX_SHADOWS
from moorage.framework.cluster_events import updated
from moorage.framework.profile import Profile, ProfileSettings, ProfileSpec
from moorage.framework.registry import Registry
from moorage.model.node import Node
from moorage.model.pods.pod import Pod

FOREIGN = "default-scheduler"
PACKING = PluginConfig(
    name="NodeResourcesFit",
    args={"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}},
)
REGISTRY = Registry.discover()


def shadow(of: str = SCHEDULER, name: str = "shadow", **settings: Any) -> Profile:
    """Return a shadow that packs pods onto few nodes. `kube_profile` spreads pods over the nodes."""
    spec = ProfileSpec(
        scheduler_name=name, plugin_config=(PACKING,), settings=ProfileSettings(shadow_of=of, **settings)
    )
    return REGISTRY.build_profile(spec)


def decisions(scheduler: Scheduler) -> list[ShadowDecision]:
    return [each for each in run_until_idle(scheduler) if isinstance(each, ShadowDecision)]


def foreign(name: str, node_name: str = "", **fields: Any) -> Pod:
    return pod(name, node=node_name, spec={"schedulerName": FOREIGN}, **fields)


def bind_by_another(scheduler: Scheduler, name: str, node_name: str, **fields: Any) -> None:
    waiting, placed = foreign(name, **fields), foreign(name, node_name, **fields)
    add_objects(scheduler, waiting)
    scheduler.apply(updated("Pod", waiting, placed), 0.0)


def test_a_shadow_prefers_another_node_for_a_pod_that_its_original_binds() -> None:
    nodes = (node("n1", cpu="8"), node("n2", cpu="8"))
    scheduler = scheduler_of(*nodes, pod("old", node="n1", cpu="4"), profiles=(kube_profile(), shadow()))
    add_objects(scheduler, pod("p", cpu="1"))
    bind, decision = run_until_idle(scheduler)
    assert isinstance(bind, Bind)
    assert isinstance(decision, ShadowDecision)
    assert (bind.node_name, decision.actual_node_name, decision.node_name) == ("n2", "n2", "n1")
    assert decision.verdict is ShadowVerdict.OTHER_NODE
    assert decision.message.startswith("n1 has the score ")
    assert scheduler.snapshot.position("n1") is not None
    assert scheduler.statistics.pending_pods()["binding"] == 1


def test_a_shadow_decides_about_a_pod_when_another_scheduler_binds_the_pod() -> None:
    scheduler = scheduler_of(node("n1", zone="a"), node("n2", zone="b"), profiles=(shadow(of=FOREIGN),))
    add_objects(scheduler, foreign("running", "n2", cpu="1"))
    assert decisions(scheduler) == []
    bind_by_another(scheduler, "new", "n1", cpu="1")
    (decision,) = decisions(scheduler)
    assert (decision.actual_node_name, decision.actual_zone) == ("n1", "a")
    assert (decision.node_name, decision.zone, decision.verdict) == ("n2", "b", ShadowVerdict.OTHER_NODE)


def test_another_node_with_the_same_score_is_a_tie() -> None:
    nodes = [node(f"n{index}") for index in range(8)]
    scheduler = scheduler_of(*nodes, profiles=(kube_profile(), shadow(of=FOREIGN)))
    for index in range(8):
        bind_by_another(scheduler, f"p{index}", f"n{index}")
    verdicts = {decision.verdict for decision in decisions(scheduler)[:1]}
    assert verdicts <= {ShadowVerdict.SAME, ShadowVerdict.TIE}


def test_a_node_that_the_shadow_rejects_is_named_with_the_reason() -> None:
    scheduler = scheduler_of(node("n1", cpu="1"), node("n2", cpu="4"), profiles=(shadow(of=FOREIGN),))
    bind_by_another(scheduler, "p", "n1", cpu="2")
    (decision,) = decisions(scheduler)
    assert decision.message == "NodeResourcesFit rejects n1: Insufficient cpu"


def test_a_pod_that_only_the_shadow_or_only_the_other_scheduler_can_place_is_reported() -> None:
    scheduler = scheduler_of(node("n1", cpu="1"), profiles=(shadow(of=FOREIGN),))
    bind_by_another(scheduler, "large", "n1", cpu="2")
    (decision,) = decisions(scheduler)
    assert (decision.verdict, decision.node_name) == (ShadowVerdict.FITS_NOWHERE, "")
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no"}
    waiting, rejected = foreign("small"), foreign("small", status={"conditions": [condition]})
    add_objects(scheduler, waiting)
    for _ in range(2):
        scheduler.apply(updated("Pod", waiting, rejected), 0.0)
        waiting = rejected
    (decision,) = decisions(scheduler)
    assert (decision.verdict, decision.node_name) == (ShadowVerdict.FITS, "n1")


def test_shadow_and_original_agree_that_a_pod_is_too_large() -> None:
    scheduler = scheduler_of(node("n1", cpu="1"), profiles=(kube_profile(), shadow()))
    add_objects(scheduler, pod("p", cpu="2"))
    outcomes = run_until_idle(scheduler)
    assert [type(each) for each in outcomes] == [Unschedulable, ShadowDecision]
    assert outcomes[1].verdict is ShadowVerdict.SAME  # type: ignore[union-attr]


def test_pods_that_name_a_shadow_wait() -> None:
    scheduler = scheduler_of(node("n1"), profiles=(shadow(name=SCHEDULER, of=FOREIGN),))
    add_objects(scheduler, pod("p"))
    (held,) = run_until_idle(scheduler)
    assert isinstance(held, Held)
    assert held.reason is HoldReason.SHADOW


def test_a_shadow_that_becomes_active_binds_its_pods_and_ignores_pods_of_other_schedulers() -> None:
    scheduler = scheduler_of(node("n1"), profiles=(shadow(name=SCHEDULER, of=FOREIGN),))
    add_objects(scheduler, pod("p"))
    run_until_idle(scheduler)
    scheduler.apply(ProfileChanged(kube_profile()), 0.0)
    bind_by_another(scheduler, "other", "n1")
    (bind,) = run_until_idle(scheduler)
    assert isinstance(bind, Bind)


def test_a_deleted_shadow_makes_no_decisions() -> None:
    scheduler = scheduler_of(node("n1"), profiles=(shadow(of=FOREIGN),))
    scheduler.apply(ProfileRemoved("shadow"), 0.0)
    bind_by_another(scheduler, "p", "n1")
    assert decisions(scheduler) == []


def test_decisions_are_skipped_and_counted_when_shadows_have_no_time() -> None:
    class Busy(Recorder):
        def may_shadow(self) -> bool:
            return False

    scheduler = Scheduler(1, (shadow(of=FOREIGN),), Busy())
    add_objects(scheduler, node("n1"))
    bind_by_another(scheduler, "p", "n1")
    assert decisions(scheduler) == []
    assert dict(scheduler.statistics.skipped_by_shadows()) == {"shadow": 1}


def test_the_number_of_shadows_that_decide_about_one_pod_is_limited() -> None:
    shadows = tuple(shadow(of=FOREIGN, name=f"s{number}") for number in range(MAX_SHADOWS + 5))
    scheduler = scheduler_of(node("n1"), profiles=shadows)
    bind_by_another(scheduler, "p", "n1")
    assert len(decisions(scheduler)) == MAX_SHADOWS


@given(strategies.clusters(), st.lists(strategies.pods("waiting"), min_size=1, max_size=1))
def test_a_shadow_with_the_same_plugins_never_differs_except_by_ties(
    cluster: tuple[list[Node], list[Pod]], waiting: list[Pod]
) -> None:
    nodes, placed = cluster
    twin = REGISTRY.build_profile(ProfileSpec(scheduler_name="twin", settings=ProfileSettings(shadow_of=SCHEDULER)))
    own = kube_profile(strict_preemption=True)
    scheduler = Scheduler(1, (own, twin))
    add_objects(scheduler, *nodes, *placed, *waiting)
    for decision in decisions(scheduler):
        assert decision.verdict in {ShadowVerdict.SAME, ShadowVerdict.TIE}, decision
