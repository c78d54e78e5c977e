from typing import Any

from builders import node, pod, snapshot_of
from engine.doubles import NameFilter, NameScore, Narrower, OtherFilter, OtherNarrower, profile
from moorage.engine.cycle.fit_error import FitError
from moorage.engine.cycle.fit_error_message import fit_error_message, histogram
from moorage.engine.cycle.scheduling_cycle import CycleInput, ScheduleResult, run_cycle
from moorage.framework.profile import Profile
from moorage.framework.status import Code, unresolvable, unschedulable
from moorage.model.pods.pod import Pod

U = Code.UNSCHEDULABLE
UU = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
NODES = snapshot_of([node("n1"), node("n2"), node("n3")])


def result_of(chosen_profile: Profile, each: Pod | None = None, **fields: Any) -> Any:
    return run_cycle(
        CycleInput(profile=chosen_profile, pod=each or pod(), snapshot=NODES, seed=1, cycle=1, explain=True, **fields)
    )


def refusal_of(chosen_profile: Profile, each: Pod | None = None) -> FitError:
    result = result_of(chosen_profile, each)
    assert isinstance(result, FitError)
    return result


def test_node_counts_for_the_first_plugin_that_rejects_it() -> None:
    refusal = refusal_of(
        profile(
            filter=(
                NameFilter(rejected={"n1": U}, reason="first"),
                OtherFilter(rejected={"n1": UU, "n2": U, "n3": UU}, reason="second"),
            )
        )
    )
    diagnosis = refusal.diagnose(explain=True)
    assert diagnosis.reasons == {"first": 1, "second": 2}
    assert diagnosis.unschedulable_plugins == {"NameFilter", "OtherFilter"}
    assert {name: (status.plugin, status.code) for name, status in diagnosis.node_statuses.items()} == {
        "n1": ("NameFilter", U),
        "n2": ("OtherFilter", U),
        "n3": ("OtherFilter", UU),
    }
    assert [NODES.names[position] for position in refusal.potential_nodes()] == ["n1", "n2"]
    assert fit_error_message(diagnosis) == "0/3 nodes are available: 1 first, 2 second."


def test_plugin_that_rejects_only_nodes_rejected_before_is_not_to_blame() -> None:
    refusal = refusal_of(
        profile(
            filter=(
                NameFilter(rejected={"n1": U, "n2": U, "n3": U}),
                OtherFilter(rejected={"n1": U, "n2": U, "n3": U}),
            )
        )
    )
    assert refusal.diagnose().unschedulable_plugins == {"NameFilter"}


def test_prefilter_that_rejects_speaks_for_all_nodes() -> None:
    refusal = refusal_of(profile(pre_filter=(Narrower(answer=unresolvable("no such claim")),)))
    diagnosis = refusal.diagnose(explain=True)
    assert fit_error_message(diagnosis) == "0/3 nodes are available: no such claim."
    assert {status.reasons for status in diagnosis.node_statuses.values()} == {("no such claim",)}
    assert refusal.potential_nodes().size == 0


def test_prefilter_that_may_be_helped_leaves_hope_for_every_node_and_lets_the_others_speak() -> None:
    refusal = refusal_of(
        profile(pre_filter=(Narrower(answer=unschedulable("in use")), OtherNarrower(answer=unschedulable("also"))))
    )
    assert refusal.diagnose().pre_filter.reasons == ("also",)
    assert refusal.potential_nodes().size == 3


def test_nodes_outside_a_prefilters_choice_name_it() -> None:
    refusal = refusal_of(
        profile(pre_filter=(Narrower(names=frozenset({"n2", "gone"})),), filter=(NameFilter(rejected={"n2": U}),))
    )
    diagnosis = refusal.diagnose(explain=True)
    assert diagnosis.reasons == {"node(s) didn't satisfy plugin(s) [Narrower]": 2, "node(s) had the wrong name": 1}
    assert diagnosis.unschedulable_plugins == {"Narrower", "NameFilter"}
    assert diagnosis.node_statuses["n1"].code is UU
    assert [NODES.names[position] for position in refusal.potential_nodes()] == ["n2"]


def test_choices_of_two_prefilters_are_intersected() -> None:
    both = (Narrower(names=frozenset({"n1", "n2"})), OtherNarrower(names=frozenset({"n2", "n3"})))
    result = result_of(profile(pre_filter=both))
    assert isinstance(result, ScheduleResult)
    assert result.decision.node_name == "n2"


def test_choices_that_exclude_each_other_are_unresolvable() -> None:
    both = (Narrower(names=frozenset({"n1"})), OtherNarrower(names=frozenset({"n2"})))
    refusal = refusal_of(profile(pre_filter=both))
    assert fit_error_message(refusal.diagnose()) == (
        "0/3 nodes are available: node(s) didn't satisfy plugin(s) [Narrower OtherNarrower] simultaneously."
    )
    alone = refusal_of(profile(pre_filter=(Narrower(names=frozenset()),)))
    assert fit_error_message(alone.diagnose()) == "0/3 nodes are available: node(s) didn't satisfy plugin Narrower."


def test_only_node_that_fits_is_not_scored() -> None:
    result = result_of(
        profile(filter=(NameFilter(rejected={"n1": U, "n3": U}),), score=(NameScore(scores={"n2": 1000}),))
    )
    assert result.decision.node_name == "n2"
    assert result.decision.scores is None


def test_best_score_wins_and_is_explained() -> None:
    result = result_of(profile(score=(NameScore(scores={"n1": 1, "n2": 3, "n3": 2}),)))
    assert result.decision.node_name == "n2"
    assert dict(zip(result.decision.scores.node_names, result.decision.scores.total.tolist(), strict=True)) == {
        "n1": 1,
        "n2": 3,
        "n3": 2,
    }


def test_without_scores_the_search_ends_at_the_first_node_that_fits() -> None:
    first = result_of(profile(filter=(NameFilter(rejected={"n1": U}),)))
    assert (first.decision.node_name, first.evaluated) == ("n2", 2)
    turned = result_of(profile(filter=(NameFilter(rejected={"n1": U}),)), start=2)
    assert (turned.decision.node_name, turned.evaluated) == ("n3", 1)


def test_nominated_node_that_prefilter_left_out_is_still_tried() -> None:
    narrow = profile(pre_filter=(Narrower(names=frozenset({"n1"})),))
    result = result_of(narrow, pod(status={"nominatedNodeName": "n2"}))
    assert result.decision.node_name == "n2"


def test_nominated_node_outside_the_choice_gives_its_own_reason() -> None:
    narrow = profile(
        pre_filter=(Narrower(names=frozenset({"n1"})),), filter=(NameFilter(rejected={"n1": UU, "n2": U}),)
    )
    refusal = refusal_of(narrow, pod(status={"nominatedNodeName": "n2"}))
    assert refusal.diagnose().reasons == {
        "node(s) had the wrong name": 2,
        "node(s) didn't satisfy plugin(s) [Narrower]": 1,
    }
    assert [NODES.names[position] for position in refusal.potential_nodes()] == ["n2"]


def test_reasons_are_sorted_as_strings() -> None:
    assert histogram({"y": 2, "x": 10}) == "10 x, 2 y"
