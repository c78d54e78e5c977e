"""Counted terms, carried terms, and the index that finds them."""

from __future__ import annotations

from builders import node, pod, snapshot_of
from moorage.cluster.terms.counted_terms import CarriedKind, CarriedTerm, Clause, CountedTerm, carried_by
from moorage.cluster.terms.shape_index import ShapeIndex
from moorage.model.pods.affinity import AffinityTerm
from moorage.model.selectors import LabelSelector, Requirement

WEB = LabelSelector((Requirement("app", "In", frozenset({"web"})),))
ANY = LabelSelector()


def test_clause_with_an_owner_counts_only_pods_of_that_owner() -> None:
    owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": n, "uid": n, "controller": True} for n in "ab"]
    placed = [
        pod("one", node="n", owner=owners[0]),
        pod("two", node="n", owner=owners[0]),
        pod("three", node="n", owner=owners[1]),
        pod("four", node="n"),
    ]
    snapshot = snapshot_of([node("n")], placed)
    term = CountedTerm((Clause(frozenset({"default"}), ANY, owner_uid="a"),), counts_terminating=True)
    assert snapshot.counted(term).tolist() == [2]


def test_term_counts_terminating_pods_only_if_counts_terminating_is_true() -> None:
    snapshot = snapshot_of([node("n")], [pod("one", node="n"), pod("two", node="n", terminating=True)])
    counts = [
        snapshot.counted(CountedTerm((Clause(None, ANY),), counts_terminating=terminating)).tolist()
        for terminating in (True, False)
    ]
    assert counts == [[2], [1]]


def test_term_counts_pods_that_match_all_its_clauses() -> None:
    snapshot = snapshot_of([node("n")], [pod(node="n", labels={"app": "web"})])
    for clauses, count in (
        ((Clause(None, None),), 0),
        ((Clause(None, WEB), Clause(None, None)), 0),
        ((Clause(None, WEB), Clause(frozenset({"default"}), ANY)), 1),
        ((Clause(frozenset(), ANY),), 0),
        ((), 1),
    ):
        assert snapshot.counted(CountedTerm(clauses, counts_terminating=True)).tolist() == [count]


def test_terms_with_equal_fields_are_equal() -> None:
    one, other = (CountedTerm((Clause(frozenset({"a"}), WEB),), counts_terminating=True) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != CountedTerm((Clause(frozenset({"a"}), WEB),), counts_terminating=False)


def test_carried_term_selects_namespaces_by_name_or_by_label() -> None:
    shape = pod(namespace="a", labels={"app": "web"}).shape

    def term(namespaces: frozenset[str], selector: LabelSelector | None) -> CarriedTerm:
        return CarriedTerm(CarriedKind.REQUIRED_AFFINITY, AffinityTerm("zone", WEB, namespaces, selector))

    team = LabelSelector((Requirement("team", "In", frozenset({"x"})),))
    labelled = {"a": {"team": "x"}}
    assert term(frozenset({"a"}), None).matches(shape, {})
    assert not term(frozenset({"b"}), None).matches(shape, {})
    assert term(frozenset({"b"}), team).matches(shape, labelled)
    assert not term(frozenset({"b"}), team).matches(shape, {"a": {"team": "y"}})
    assert term(frozenset(), ANY).matches(shape, {})
    assert not CarriedTerm(CarriedKind.REQUIRED_AFFINITY, AffinityTerm("zone", None, frozenset({"a"}))).matches(
        shape, {}
    )


def test_carried_by_returns_each_term_with_its_kind_and_weight() -> None:
    selector = {"matchLabels": {"app": "web"}}
    required = [{"topologyKey": "zone", "labelSelector": selector}]
    preferred = [{"weight": 7, "podAffinityTerm": required[0]}]
    half = {
        "requiredDuringSchedulingIgnoredDuringExecution": required,
        "preferredDuringSchedulingIgnoredDuringExecution": preferred,
    }
    made = pod(affinity={"podAffinity": half, "podAntiAffinity": half})
    assert [(each.kind, each.weight) for each in carried_by(made.shape)] == [
        (CarriedKind.REQUIRED_AFFINITY, 0),
        (CarriedKind.REQUIRED_ANTI_AFFINITY, 0),
        (CarriedKind.PREFERRED_AFFINITY, 7),
        (CarriedKind.PREFERRED_ANTI_AFFINITY, 7),
    ]
    assert carried_by(pod().shape) == ()


def test_index_finds_each_matching_term_once() -> None:
    index: ShapeIndex[str] = ShapeIndex()
    many = frozenset(f"ns-{number}" for number in range(100))
    both = LabelSelector((*WEB.requirements, Requirement("tier", "In", frozenset({"a", "b"}))))
    terms = {
        "all pods": (None, ANY),
        "labelled": (frozenset({"ns-1", "ns-2"}), WEB),
        "many namespaces": (many, WEB),
        "several labels": (None, both),
    }
    for term, (namespaces, selector) in terms.items():
        index.add(term, namespaces, selector)
    index.add("nothing", None, None)
    shape = pod(namespace="ns-1", labels={"app": "web", "tier": "b"}).shape
    assert sorted(index.candidates(shape)) == sorted(terms)
    assert list(index.candidates(pod(labels={"app": "db"}).shape)) == ["all pods"]
    for term, (namespaces, selector) in terms.items():
        index.discard(term, namespaces, selector)
    assert list(index.candidates(shape)) == []
