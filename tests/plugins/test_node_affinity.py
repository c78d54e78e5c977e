from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from builders import Object, node, pod, snapshot_of
from moorage.cluster.node_selectors import node_meets_pod_affinity
from moorage.framework.cluster_events import added, deleted, updated
from moorage.framework.plugin_arguments import build_plugin
from moorage.framework.status import Code
from moorage.model.node import Node
from moorage.model.selectors import NodeSelectorTerm
from moorage.plugins.upstream.node_affinity import NodeAffinity
from plugin_runs import passes, rejections, scores

POD = (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ["node(s) didn't match Pod's node affinity/selector"])
ENFORCED = (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ["node(s) didn't match scheduler-enforced node affinity"])


def expression(key: str, operator: str, *values: str) -> Object:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def term(*expressions: Object, fields: tuple[Object, ...] = ()) -> Object:
    return {"matchExpressions": list(expressions), "matchFields": list(fields)}


def required(*terms: Object) -> Object:
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}


def preferred(*weighted: tuple[int, Object]) -> Object:
    return {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": weight, "preference": preference} for weight, preference in weighted
        ]
    }


def affine(*parts: Object, **fields: Any) -> Any:
    return pod(affinity={"nodeAffinity": {key: value for part in parts for key, value in part.items()}}, **fields)


def with_added(affinity: Object) -> NodeAffinity:
    plugin = build_plugin(NodeAffinity, {"addedAffinity": affinity}, {})
    assert isinstance(plugin, NodeAffinity)
    return plugin


CLUSTER = [
    node("ssd-a", labels={"disk": "ssd", "rank": "10"}, zone="a"),
    node("ssd-b", labels={"disk": "ssd", "rank": "2"}, zone="b"),
    node("hdd-a", labels={"disk": "hdd"}, zone="a"),
]


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        (expression("disk", "In", "ssd", "nvme"), {"ssd-a", "ssd-b"}),
        (expression("rank", "NotIn", "2"), {"ssd-a", "hdd-a"}),
        (expression("rank", "Exists"), {"ssd-a", "ssd-b"}),
        (expression("rank", "DoesNotExist"), {"hdd-a"}),
        (expression("rank", "Gt", "2"), {"ssd-a"}),
        (expression("rank", "Lt", "10"), {"ssd-b"}),
        (expression("disk", "Gt", "1"), set()),
        (expression("nobody-has-it", "In", "x"), set()),
    ],
)
def test_nodes_pass_if_their_labels_meet_the_operator(requirement: Object, expected: set[str]) -> None:
    assert passes(NodeAffinity(), affine(required(term(requirement))), snapshot_of(CLUSTER)) == expected


def test_node_must_match_one_term_and_the_node_selector() -> None:
    either = required(term(expression("disk", "In", "hdd")), term(expression("rank", "Gt", "5")))
    cluster = snapshot_of(CLUSTER)

    assert passes(NodeAffinity(), affine(either), cluster) == {"ssd-a", "hdd-a"}
    assert rejections(NodeAffinity(), affine(either, spec={"nodeSelector": {"disk": "ssd"}}), cluster) == {
        "ssd-a": None,
        "ssd-b": POD,
        "hdd-a": POD,
    }


def test_invalid_and_empty_terms_match_no_node() -> None:
    cluster = snapshot_of(CLUSTER)

    assert passes(
        NodeAffinity(),
        affine(required(term(expression("rank", "Gt", "x")), term(expression("disk", "Exists")))),
        cluster,
    ) == {"ssd-a", "ssd-b", "hdd-a"}
    assert passes(NodeAffinity(), affine(required(term())), cluster) == set()
    assert passes(NodeAffinity(), affine(required()), cluster) == set()


def test_pre_filter_and_pre_score_skip_a_pod_without_affinity() -> None:
    assert NodeAffinity().pre_filter(pod(), snapshot_of(CLUSTER)).status.code is Code.SKIP
    assert NodeAffinity().pre_score(pod(), snapshot_of(CLUSTER)).status.code is Code.SKIP


def named(*names: str) -> Object:
    return term(fields=tuple(expression("metadata.name", "In", name) for name in names))


def test_pre_filter_returns_the_named_nodes_if_every_term_names_nodes() -> None:
    cluster = snapshot_of(CLUSTER)
    both = affine(required(named("ssd-a"), named("gone")))
    conflict = affine(required(named("ssd-a", "hdd-a")))
    open_end = affine(required(named("ssd-a"), term(expression("disk", "Exists"))))

    assert NodeAffinity().pre_filter(both, cluster).node_names == frozenset({"ssd-a", "gone"})
    assert passes(NodeAffinity(), both, cluster) == {"ssd-a"}
    assert NodeAffinity().pre_filter(open_end, cluster).node_names is None
    status = NodeAffinity().pre_filter(conflict, cluster).status
    assert (status.code, status.reasons) == (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("pod affinity terms conflict",))


def test_score_is_the_sum_of_matching_weights_scaled_so_that_the_best_node_has_100() -> None:
    incoming = affine(preferred((30, term(expression("disk", "In", "ssd"))), (10, term(expression("rank", "Gt", "5")))))
    cluster = snapshot_of(CLUSTER)

    assert scores(NodeAffinity(), incoming, cluster, raw=True) == {"ssd-a": 40, "ssd-b": 30, "hdd-a": 0}
    assert scores(NodeAffinity(), incoming, cluster) == {"ssd-a": 100, "ssd-b": 75, "hdd-a": 0}


def test_invalid_preferred_term_is_an_error_with_its_path() -> None:
    incoming = affine(preferred((1, term(expression("disk", "Exists"))), (1, term(expression("rank", "Gt", "-5")))))

    status = NodeAffinity().pre_score(incoming, snapshot_of(CLUSTER)).status

    assert status.code is Code.ERROR
    assert status.message.startswith('[1].matchExpressions[0].values[0][rank]: Invalid value: "-5": a valid label')


def test_added_affinity_applies_to_every_pod_and_rejects_with_its_own_reason() -> None:
    plugin = with_added(
        required(term(expression("disk", "In", "ssd"))) | preferred((50, term(expression("rank", "Gt", "5"))))
    )
    cluster = snapshot_of(CLUSTER)

    assert rejections(plugin, pod(), cluster) == {"ssd-a": None, "ssd-b": None, "hdd-a": ENFORCED}
    assert rejections(plugin, pod(spec={"nodeSelector": {"rank": "2"}}), cluster) == {
        "ssd-a": POD,
        "ssd-b": None,
        "hdd-a": ENFORCED,
    }
    assert scores(plugin, pod(), cluster, raw=True) == {"ssd-a": 50, "ssd-b": 0, "hdd-a": 0}


@pytest.mark.parametrize(
    "affinity",
    [
        required(term(expression("disk", "Near", "ssd"))),
        required(term(expression("disk", "In"))),
        required(term(expression("disk", "Exists", "ssd"))),
        required(term(expression("rank", "Gt", "high"))),
        required(term(expression("rank", "Gt", "1", "2"))),
        required(term(expression("not a label", "Exists"))),
        required(term(expression("disk", "In", "-ssd"))),
        required(term(fields=(expression("metadata.name", "Exists"),))),
        required(term(fields=(expression("metadata.namespace", "In", "x"),))),
        required({"matchLabels": {"disk": "ssd"}}),
        preferred((1, term(expression("rank", "Lt", "-5")))),
    ],
)
def test_added_affinity_that_kube_scheduler_rejects_is_rejected(affinity: Object) -> None:
    with pytest.raises(ValidationError, match="addedAffinity"):
        with_added(affinity)


def test_node_queues_the_pod_if_it_starts_to_match() -> None:
    plugin = with_added(required(term(expression("disk", "In", "ssd"))))
    waiting = pod(spec={"nodeSelector": {"rank": "2"}})
    fitting, other = node(labels={"disk": "ssd", "rank": "2"}), node(labels={"disk": "ssd"})

    assert plugin.queueing_hint(waiting, added("Node", fitting))
    assert plugin.queueing_hint(waiting, updated("Node", other, fitting))
    assert not plugin.queueing_hint(waiting, updated("Node", fitting, fitting))
    assert not plugin.queueing_hint(waiting, added("Node", other))
    assert not plugin.queueing_hint(waiting, added("Node", node(labels={"rank": "2"})))
    assert not plugin.queueing_hint(waiting, deleted("Node", fitting))


KEYS = st.sampled_from(["disk", "rank", "nobody-has-it"])
VALUES = st.sampled_from(["ssd", "hdd", "1", "2", "10"])
expressions = st.one_of(
    st.builds(lambda key, values: expression(key, "In", *values), KEYS, st.lists(VALUES, min_size=1, max_size=2)),
    st.builds(lambda key, values: expression(key, "NotIn", *values), KEYS, st.lists(VALUES, min_size=1, max_size=2)),
    st.builds(expression, KEYS, st.sampled_from(["Exists", "DoesNotExist"])),
    st.builds(expression, KEYS, st.sampled_from(["Gt", "Lt"]), st.sampled_from(["1", "5", "x"])),
)
field_requirements = st.builds(
    expression,
    st.just("metadata.name"),
    st.sampled_from(["In", "NotIn"]),
    st.sampled_from(["n0", "n1", "gone"]),
)
terms = st.builds(
    lambda expressions, fields: term(*expressions, fields=tuple(fields)),
    st.lists(expressions, max_size=2),
    st.lists(field_requirements, max_size=2),
)
labelled_nodes = st.lists(
    st.fixed_dictionaries({}, optional={"disk": VALUES, "rank": VALUES}), min_size=1, max_size=4
).map(lambda each: [node(f"n{index}", labels=labels) for index, labels in enumerate(each)])


def _meets(each: NodeSelectorTerm, on: Node) -> bool:
    """Return whether a node meets all requirements of a term."""
    if each.error or each.is_empty:
        return False
    return all(requirement.matches(on.labels) for requirement in each.expressions) and all(
        requirement.matches({"metadata.name": on.name}) for requirement in each.fields
    )


@given(
    labelled_nodes,
    st.one_of(st.none(), st.lists(terms, max_size=2)),
    st.lists(st.tuples(st.integers(1, 100), terms), max_size=2),
    st.one_of(st.none(), st.fixed_dictionaries({}, optional={"disk": VALUES})),
)
def test_filter_and_score_agree_with_a_check_of_each_node(
    nodes: list[Node], demanded: list[Object] | None, wished: list[tuple[int, Object]], selector: Object | None
) -> None:
    parts = [] if demanded is None else [required(*demanded)]
    incoming = affine(*parts, preferred(*wished), spec={} if selector is None else {"nodeSelector": selector})
    cluster, plugin = snapshot_of(nodes), NodeAffinity()
    affinity = incoming.shape.node_affinity

    fitting = {
        each.name
        for each in nodes
        if (affinity.required is None or any(_meets(one, each) for one in affinity.required.terms))
        and all(each.labels.get(key) == value for key, value in (selector or {}).items())
    }

    assert {each.name for each in nodes if node_meets_pod_affinity(incoming.shape, each)} == fitting
    if plugin.pre_filter(incoming, cluster).status.code is not Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        assert passes(plugin, incoming, cluster) == fitting
    readable = not any(each.term.error for each in affinity.preferred)
    if wished and readable:
        assert scores(plugin, incoming, cluster, raw=True) == {
            each.name: sum(wish.weight for wish in affinity.preferred if _meets(wish.term, each)) for each in nodes
        }
