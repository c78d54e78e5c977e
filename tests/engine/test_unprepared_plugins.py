"""Profiles that disable PreFilter or PreScore, although Filter or Score of the same plugin needs the result."""

import pytest

from builders import node, pod, snapshot_of
from moorage.api.plugin_config import Plugins
from moorage.engine.cycle.cycle_error import CycleError
from moorage.engine.cycle.fit_error import FitError
from moorage.engine.cycle.scheduling_cycle import CycleInput, ScheduleResult, run_cycle
from moorage.framework.profile import ProfileSpec
from moorage.framework.registry import Registry

REGISTRY = Registry.discover()


def choose(plugins: dict[str, object], *, unschedulable: bool = False) -> object:
    """Run a cycle with two nodes; if `unschedulable`, an earlier plugin rejects both."""
    spec = ProfileSpec(scheduler_name="default-scheduler", plugins=Plugins.model_validate(plugins))
    nodes = snapshot_of([node("n1", unschedulable=unschedulable), node("n2", unschedulable=unschedulable)])
    return run_cycle(
        CycleInput(profile=REGISTRY.build_profile(spec), pod=pod(cpu="1"), snapshot=nodes, seed=1, cycle=1)
    )


def disabled(point: str, name: str) -> dict[str, object]:
    return {point: {"disabled": [{"name": name}]}}


def test_filter_fails_the_cycle_if_it_needs_its_disabled_pre_filter() -> None:
    words = 'running "NodeResourcesFit" filter plugin: error reading "PreFilterNodeResourcesFit" from cycleState'
    with pytest.raises(CycleError, match=words):
        choose(disabled("preFilter", "NodeResourcesFit"))


def test_filter_without_its_pre_filter_does_not_fail_the_cycle_if_no_node_is_left() -> None:
    assert isinstance(choose(disabled("preFilter", "NodeResourcesFit"), unschedulable=True), FitError)


def test_score_fails_the_cycle_if_it_needs_its_disabled_pre_score() -> None:
    words = 'plugin "TaintToleration" failed with: failed to read "PreScoreTaintToleration" from cycleState: not found'
    with pytest.raises(CycleError, match=words):
        choose(disabled("preScore", "TaintToleration"))


@pytest.mark.parametrize(
    ("point", "name"), [("preFilter", "NodeAffinity"), ("preFilter", "VolumeZone"), ("preScore", "NodeResourcesFit")]
)
def test_pod_is_scheduled_if_the_plugin_does_not_need_the_disabled_point(point: str, name: str) -> None:
    assert isinstance(choose(disabled(point, name)), ScheduleResult)
