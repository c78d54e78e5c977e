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
    return run_cycle(CycleInput(profile=chosen_profile, pod=each or pod(), snapshot=NODES, seed=1, cycle=1, **fields))


def fit_error_of(chosen_profile: Profile, each: Pod | None = None) -> FitError:
    result = result_of(chosen_profile, each)
    assert isinstance(result, FitError)
    return result


def test_node_has_the_status_of_the_first_plugin_that_rejects_it() -> None:
    fit_error = fit_error_of(
        profile(
            filter=(
                NameFilter(rejected={"n1": U}, reason="first"),
                OtherFilter(rejected={"n1": UU, "n2": U, "n3": UU}, reason="second"),
            )
        )
    )
    diagnosis = fit_error.diagnose()
    assert diagnosis.reasons == {"first": 1, "second": 2}
    assert diagnosis.unschedulable_plugins == {"NameFilter", "OtherFilter"}
    assert {name: (status.plugin, status.code) for name, status in fit_error.statuses().items()} == {
        "n1": ("NameFilter", U),
        "n2": ("OtherFilter", U),
        "n3": ("OtherFilter", UU),
    }
    assert [NODES.names[position] for position in fit_error.potential_nodes()] == ["n1", "n2"]
    assert fit_error_message(diagnosis) == "0/3 nodes are available: 1 first, 2 second."


def test_plugin_is_not_blamed_if_earlier_plugins_rejected_all_nodes_that_it_rejects() -> None:
    fit_error = fit_error_of(
        profile(
            filter=(
                NameFilter(rejected={"n1": U, "n2": U, "n3": U}),
                OtherFilter(rejected={"n1": U, "n2": U, "n3": U}),
            )
        )
    )
    assert fit_error.diagnose().unschedulable_plugins == {"NameFilter"}


def test_unresolvable_prefilter_rejects_all_nodes() -> None:
    fit_error = fit_error_of(profile(pre_filter=(Narrower(answer=unresolvable("no such claim")),)))
    diagnosis = fit_error.diagnose()
    assert fit_error_message(diagnosis) == "0/3 nodes are available: no such claim."
    assert {status.reasons for status in fit_error.statuses().values()} == {("no such claim",)}
    assert fit_error.potential_nodes().size == 0


def test_prefilters_after_an_unschedulable_prefilter_still_run() -> None:
    fit_error = fit_error_of(
        profile(pre_filter=(Narrower(answer=unschedulable("in use")), OtherNarrower(answer=unschedulable("also"))))
    )
    assert fit_error.diagnose().pre_filter.reasons == ("also",)
    assert fit_error.potential_nodes().size == 3


def test_node_that_a_prefilter_leaves_out_has_a_status_that_names_the_plugin() -> None:
    fit_error = fit_error_of(
        profile(pre_filter=(Narrower(names=frozenset({"n2", "gone"})),), filter=(NameFilter(rejected={"n2": U}),))
    )
    diagnosis = fit_error.diagnose()
    assert diagnosis.reasons == {"node(s) didn't satisfy plugin(s) [Narrower]": 2, "node(s) had the wrong name": 1}
    assert diagnosis.unschedulable_plugins == {"Narrower", "NameFilter"}
    assert fit_error.statuses()["n1"].code is UU
    assert [NODES.names[position] for position in fit_error.potential_nodes()] == ["n2"]


def test_node_must_be_in_the_result_of_every_prefilter() -> None:
    both = (Narrower(names=frozenset({"n1", "n2"})), OtherNarrower(names=frozenset({"n2", "n3"})))
    result = result_of(profile(pre_filter=both))
    assert isinstance(result, ScheduleResult)
    assert result.node_name == "n2"


def test_prefilters_that_leave_no_node_reject_the_pod_as_unresolvable() -> None:
    both = (Narrower(names=frozenset({"n1"})), OtherNarrower(names=frozenset({"n2"})))
    fit_error = fit_error_of(profile(pre_filter=both))
    assert fit_error_message(fit_error.diagnose()) == (
        "0/3 nodes are available: node(s) didn't satisfy plugin(s) [Narrower OtherNarrower] simultaneously."
    )
    alone = fit_error_of(profile(pre_filter=(Narrower(names=frozenset()),)))
    assert fit_error_message(alone.diagnose()) == "0/3 nodes are available: node(s) didn't satisfy plugin Narrower."


def test_only_node_that_fits_is_chosen_without_scoring() -> None:
    result = result_of(
        profile(filter=(NameFilter(rejected={"n1": U, "n3": U}),), score=(NameScore(scores={"n2": 1000}),))
    )
    assert result.node_name == "n2"


def test_node_with_the_highest_score_is_chosen() -> None:
    result = result_of(profile(score=(NameScore(scores={"n1": 1, "n2": 3, "n3": 2}),)))
    assert result.node_name == "n2"


def test_search_ends_at_the_first_node_that_fits_if_no_plugin_scores() -> None:
    first = result_of(profile(filter=(NameFilter(rejected={"n1": U}),)))
    assert (first.node_name, first.evaluated_nodes) == ("n2", 2)
    turned = result_of(profile(filter=(NameFilter(rejected={"n1": U}),)), start=2)
    assert (turned.node_name, turned.evaluated_nodes) == ("n3", 1)


def test_nominated_node_that_prefilter_leaves_out_is_tried() -> None:
    narrow = profile(pre_filter=(Narrower(names=frozenset({"n1"})),))
    result = result_of(narrow, pod(status={"nominatedNodeName": "n2"}))
    assert result.node_name == "n2"


def test_nominated_node_that_prefilter_leaves_out_has_the_reason_of_its_filter() -> None:
    narrow = profile(
        pre_filter=(Narrower(names=frozenset({"n1"})),), filter=(NameFilter(rejected={"n1": UU, "n2": U}),)
    )
    fit_error = fit_error_of(narrow, pod(status={"nominatedNodeName": "n2"}))
    assert fit_error.diagnose().reasons == {
        "node(s) had the wrong name": 2,
        "node(s) didn't satisfy plugin(s) [Narrower]": 1,
    }
    assert [NODES.names[position] for position in fit_error.potential_nodes()] == ["n2"]


def test_reasons_are_sorted_as_strings() -> None:
    assert histogram({"y": 2, "x": 10}) == "10 x, 2 y"


def test_pod_that_is_too_large_is_unschedulable_and_no_plugin_reads_it() -> None:
    large = pod(spec={"nodeSelector": {f"key-{number}": "x" for number in range(10_000)}})
    fit_error = fit_error_of(profile(filter=(NameFilter(rejected={"n1": U}, reason="first"),)), large)
    diagnosis = fit_error.diagnose()
    assert fit_error_message(diagnosis) == (
        "0/3 nodes are available: the pod's labels, containers, volumes, affinity, tolerations and topology spread "
        "constraints together are larger than 100000 bytes."
    )
    assert diagnosis.unschedulable_plugins == set()
