from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from builders import Object, node, pod, snapshot_of
from moorage.framework.cluster_events import added, updated
from moorage.framework.plugin_arguments import build_plugin
from moorage.framework.status import Code
from moorage.model.node import Node
from moorage.plugins.own.instance_type import LABEL, InstanceType
from plugin_runs import passes, rejections, scores


def of_type(name: str, instance_type: str = "") -> Node:
    return node(name, labels={LABEL: instance_type} if instance_type else {})


def instance_type(args: Object) -> InstanceType:
    plugin = build_plugin(InstanceType, args, {})
    assert isinstance(plugin, InstanceType)
    return plugin


def test_default_scores_equal_the_scores_in_the_tutorial() -> None:
    cluster = snapshot_of(
        [
            of_type("a", "c5.large"),
            of_type("b", "m5.large"),
            of_type("c", "r5.large"),
            of_type("d", "p5.large"),
            of_type("e"),
        ]
    )

    assert scores(InstanceType(), pod(), cluster) == {"a": 100, "b": 50, "c": 30, "d": 10, "e": 10}


def test_first_matching_row_gives_the_score() -> None:
    table = {"scores": [{"match": "c5.xlarge", "score": 9}, {"match": "c5*", "score": 2}], "default": 0}
    cluster = snapshot_of([of_type("x", "c5.xlarge"), of_type("y", "c5.large"), of_type("z", "t3.large")])

    assert scores(instance_type(table), pod(), cluster) == {"x": 90, "y": 20, "z": 0}


def test_filter_compares_instance_types_with_the_patterns_of_allow_and_deny() -> None:
    plugin = instance_type({"allow": ["p5.*", "g6*"], "deny": ["g6.xlarge"]})
    cluster = snapshot_of([of_type("p5", "p5.48xlarge"), of_type("g6", "g6.xlarge"), of_type("none")])
    excluded = (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ["node(s) had an instance type that the policy excludes"])

    assert rejections(plugin, pod(), cluster) == {"p5": None, "g6": excluded, "none": excluded}
    assert passes(instance_type({"deny": ["g6*"]}), pod(), cluster) == {"p5", "none"}


@pytest.mark.parametrize("args", [{"default": 11}, {"scores": [{"match": "c5*"}]}, {"allow": [""]}, {"denied": []}])
def test_arguments_out_of_bounds_are_rejected(args: Object) -> None:
    with pytest.raises(ValidationError):
        instance_type(args)


def test_node_of_an_allowed_type_queues_the_pod() -> None:
    plugin = instance_type({"allow": ["c5*"]})

    assert plugin.queueing_hint(pod(), added("Node", of_type("n", "c5.large")))
    assert not plugin.queueing_hint(pod(), added("Node", of_type("n", "m5.large")))
    assert not plugin.queueing_hint(pod(), updated("Node", of_type("n", "c5.large"), of_type("n", "c5.large")))


types = st.sampled_from(["", "c5.large", "c5.xlarge", "m5.large"])
patterns = st.lists(st.sampled_from(["c5*", "*.large", "m5.large", "?5.x*"]), max_size=2, unique=True)
rows = st.lists(
    st.fixed_dictionaries({"match": st.sampled_from(["c5*", "*large", "m5.*"]), "score": st.integers(0, 10)}),
    max_size=3,
)


@given(st.lists(types, min_size=1, max_size=5), patterns, patterns, rows)
def test_filter_and_score_agree_with_a_check_of_each_node(
    present: list[str], allow: list[str], deny: list[str], table: list[Object]
) -> None:
    cluster = snapshot_of(of_type(f"n{index}", each) for index, each in enumerate(present))
    plugin = instance_type({"allow": allow, "deny": deny, "scores": table, "default": 4})

    def allowed(each: str) -> bool:
        if allow and not (each and any(fnmatchcase(each, pattern) for pattern in allow)):
            return False
        return not (each and any(fnmatchcase(each, pattern) for pattern in deny))

    def score(each: str) -> int:
        for row in table:
            if each and fnmatchcase(each, row["match"]):
                return int(row["score"]) * 10
        return 40

    assert passes(plugin, pod(), cluster) == {f"n{index}" for index, each in enumerate(present) if allowed(each)}
    assert scores(plugin, pod(), cluster) == {f"n{index}": score(each) for index, each in enumerate(present)}
