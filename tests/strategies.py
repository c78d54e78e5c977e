"""Hypothesis strategies for small clusters. The vocabularies are small, so that labels, names and amounts often match.

The strategies draw the API server's dicts, and `builders` decodes them, so that tests see only objects that informers
can produce.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from builders import HOSTNAME, ZONE, Object, make_node, make_pod, node_object, pod_object
from moorage.cluster.terms.counted_terms import Clause, CountedTerm
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from moorage.model.selectors import LabelSelector, Requirement

NAMESPACES = ("default", "team-a", "team-b")
NAMESPACE_LABELS = {"default": {}, "team-a": {"team": "a"}, "team-b": {"team": "b", "shared": "yes"}}
NODE_NAMES = ("n0", "n1", "n2", "n3", "n4", "n5")
ZONES = ("", "z-a", "z-b", "z-c")
TOPOLOGY_KEYS = (HOSTNAME, ZONE, "rack")
APPS = ("web", "db", "cache")
EXTENDED = "example.com/gpu"

quantities = st.one_of(
    st.sampled_from(["0", "1", "100m", "250m", "0.5", "2", "1e1"]), st.integers(1, 4000).map(lambda n: f"{n}m")
)
byte_quantities = st.one_of(st.sampled_from(["0", "64Mi", "1Gi", "1G", "1500k"]), st.integers(1, 10**10).map(str))


@cache
def pod_labels() -> st.SearchStrategy[dict[str, str]]:
    """Return a strategy for labels of pods."""
    return st.fixed_dictionaries(
        {}, optional={"app": st.sampled_from(APPS), "tier": st.sampled_from(["front", "back"])}
    )


@cache
def label_selectors() -> st.SearchStrategy[Object]:
    """Return a strategy for selectors of `pod_labels`, including the empty selector."""
    expressions = st.one_of(
        st.fixed_dictionaries(
            {
                "key": st.sampled_from(["app", "tier", "nope"]),
                "operator": st.sampled_from(["In", "NotIn"]),
                "values": st.lists(st.sampled_from([*APPS, "front", "back"]), min_size=1, max_size=2, unique=True),
            }
        ),
        st.fixed_dictionaries(
            {"key": st.sampled_from(["app", "tier", "nope"]), "operator": st.sampled_from(["Exists", "DoesNotExist"])}
        ),
    )
    return st.fixed_dictionaries(
        {}, optional={"matchLabels": pod_labels(), "matchExpressions": st.lists(expressions, max_size=2)}
    )


@cache
def affinity_terms() -> st.SearchStrategy[Object]:
    """Return a strategy for terms of pod affinity and anti-affinity."""
    return st.fixed_dictionaries(
        {"topologyKey": st.sampled_from(TOPOLOGY_KEYS)},
        optional={
            "labelSelector": label_selectors(),
            "namespaces": st.lists(st.sampled_from(NAMESPACES), min_size=1, max_size=2, unique=True),
            "namespaceSelector": st.sampled_from(
                [{}, {"matchLabels": {"team": "a"}}, {"matchExpressions": [{"key": "shared", "operator": "Exists"}]}]
            ),
        },
    )


@cache
def pod_affinities() -> st.SearchStrategy[Object]:
    """Return a strategy for `spec.affinity` with pod affinity and anti-affinity."""
    weighted = st.fixed_dictionaries({"weight": st.integers(1, 100), "podAffinityTerm": affinity_terms()})
    half = st.fixed_dictionaries(
        {},
        optional={
            "requiredDuringSchedulingIgnoredDuringExecution": st.lists(affinity_terms(), max_size=2),
            "preferredDuringSchedulingIgnoredDuringExecution": st.lists(weighted, max_size=2),
        },
    )
    return st.fixed_dictionaries({}, optional={"podAffinity": half, "podAntiAffinity": half})


@cache
def spread_constraints() -> st.SearchStrategy[list[Object]]:
    """Return a strategy for lists of topology spread constraints."""
    return st.lists(
        st.fixed_dictionaries(
            {
                "maxSkew": st.integers(1, 3),
                "topologyKey": st.sampled_from(TOPOLOGY_KEYS),
                "whenUnsatisfiable": st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
            },
            optional={"labelSelector": label_selectors(), "nodeTaintsPolicy": st.sampled_from(["Honor", "Ignore"])},
        ),
        max_size=2,
    )


@cache
def tolerations() -> st.SearchStrategy[list[Object]]:
    """Return a strategy for tolerations of `taints`."""
    return st.lists(
        st.sampled_from(
            [
                {"operator": "Exists"},
                {"key": "dedicated", "operator": "Exists"},
                {"key": "dedicated", "operator": "Equal", "value": "db", "effect": "NoSchedule"},
                {"key": "spot", "operator": "Exists", "effect": "PreferNoSchedule"},
            ]
        ),
        max_size=2,
    )


@cache
def taints() -> st.SearchStrategy[list[Object]]:
    """Return a strategy for taints of nodes."""
    return st.lists(
        st.sampled_from(
            [
                {"key": "dedicated", "value": "db", "effect": "NoSchedule"},
                {"key": "dedicated", "value": "web", "effect": "NoExecute"},
                {"key": "spot", "effect": "PreferNoSchedule"},
            ]
        ),
        max_size=2,
        unique_by=lambda taint: (taint["key"], taint["effect"]),
    )


@cache
def _requests() -> st.SearchStrategy[dict[str, str]]:
    return st.fixed_dictionaries(
        {}, optional={"cpu": quantities, "memory": byte_quantities, EXTENDED: st.sampled_from(["1", "2"])}
    )


def nodes(name: str | None = None) -> st.SearchStrategy[Node]:
    """Return a strategy for nodes; without `name`, the name is one of NODE_NAMES."""
    return node_objects(name).map(make_node)


@st.composite
def node_objects(draw: st.DrawFn, name: str | None = None) -> Object:
    """Draw a node as a dict; without `name`, its name is one of NODE_NAMES."""
    extended = draw(st.sampled_from([{}, {EXTENDED: "4"}, {"ephemeral-storage": "10Gi"}]))
    rack = draw(st.sampled_from([{}, {"rack": "r1"}, {"rack": "r2"}]))
    return node_object(
        name or draw(st.sampled_from(NODE_NAMES)),
        cpu=draw(st.sampled_from(["1", "2", "4", "1500m"])),
        memory=draw(st.sampled_from(["2Gi", "4Gi", "8G"])),
        pods=draw(st.sampled_from(["2", "10", "110"])),
        allocatable=extended,
        labels=rack,
        zone=draw(st.sampled_from(ZONES)),
        taints=draw(taints()),
        unschedulable=draw(st.booleans()),
        images=draw(st.dictionaries(st.sampled_from(["app:1", "app:2"]), st.integers(1, 10**9), max_size=2)),
    )


@cache
def _maybe_affinity() -> st.SearchStrategy[Object | None]:
    return st.one_of(st.none(), pod_affinities())


def pods(name: str = "p", node: str = "") -> st.SearchStrategy[Pod]:
    """Return a strategy for pods with this name, placed on `node` or waiting."""
    return pod_objects(name, node).map(make_pod)


@st.composite
def pod_objects(draw: st.DrawFn, name: str = "p", node: str = "") -> Object:
    """Draw a pod with this name as a dict, placed on `node` or waiting."""
    requests: dict[str, Any] = draw(_requests())
    return pod_object(
        name,
        namespace=draw(st.sampled_from(NAMESPACES)),
        labels=draw(pod_labels()),
        node=node,
        requests=requests,
        host_ports=draw(st.lists(st.sampled_from([80, 443]), max_size=1)),
        tolerations=draw(tolerations()),
        affinity=draw(_maybe_affinity()),
        spread=draw(spread_constraints()),
        priority=draw(st.sampled_from([0, 0, 10, 100])),
        terminating=draw(st.sampled_from([False, False, False, True])),
    )


@st.composite
def clusters(draw: st.DrawFn, max_pods: int = 6) -> tuple[list[Node], list[Pod]]:
    """Draw nodes with different names, and pods on them."""
    names = draw(st.lists(st.sampled_from(NODE_NAMES), min_size=1, unique=True))
    placed = [
        draw(pods(name=f"e{index}", node=draw(st.sampled_from(names))))
        for index in range(draw(st.integers(0, max_pods)))
    ]
    return [draw(nodes(name=name)) for name in names], placed


@st.composite
def counted_terms(draw: st.DrawFn) -> CountedTerm:
    """Draw a term that counts placed pods."""
    clauses = draw(st.lists(_clauses(), min_size=1, max_size=2))
    return CountedTerm(tuple(clauses), counts_terminating=draw(st.booleans()))


@cache
def _clauses() -> st.SearchStrategy[Clause]:
    namespaces = st.one_of(st.none(), st.frozensets(st.sampled_from(NAMESPACES), max_size=2))
    requirements = st.builds(
        Requirement,
        st.sampled_from(["app", "tier"]),
        st.sampled_from(["In", "NotIn"]),
        st.frozensets(st.sampled_from([*APPS, "front"]), min_size=1, max_size=2),
    )
    selectors = st.one_of(st.none(), st.lists(requirements, max_size=2).map(lambda each: LabelSelector(tuple(each))))
    return st.builds(Clause, namespaces, selectors)
