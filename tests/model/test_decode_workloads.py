"""Decoding of Services, controllers, Namespaces and PodDisruptionBudgets."""

import pytest

from builders import Object, make
from moorage.model.selectors import LabelSelector, Requirement
from moorage.model.workloads.workload_objects import Controller, Namespace, PodDisruptionBudget, Service

META = {"name": "x", "namespace": "ns", "uid": "u"}
LABELS = {"matchLabels": {"app": "web"}}
SELECTOR = LabelSelector((Requirement("app", "In", frozenset({"web"})),))


def test_selector_of_a_service_is_decoded_as_a_map_of_labels() -> None:
    body = {"metadata": META, "spec": {"selector": {"app": "web"}}}
    assert make("Service", body) == Service(namespace="ns", name="x", selector={"app": "web"})
    assert make("Service", {"metadata": META, "spec": {"selector": None}}).selector == {}


@pytest.mark.parametrize(
    ("kind", "selector"), [("ReplicaSet", LABELS), ("StatefulSet", LABELS), ("ReplicationController", {"app": "web"})]
)
def test_selector_of_every_kind_of_controller_is_decoded_as_a_label_selector(kind: str, selector: Object) -> None:
    body = {"metadata": META, "spec": {"selector": selector}}
    assert make(kind, body) == Controller(kind=kind, namespace="ns", name="x", uid="u", selector=SELECTOR)


def test_labels_of_a_namespace_are_decoded() -> None:
    assert make("Namespace", {"metadata": {"name": "ns", "labels": {"a": "b"}}}) == Namespace(
        name="ns", labels={"a": "b"}
    )


def test_pod_disruption_budget_is_decoded_with_the_names_of_disrupted_pods() -> None:
    status = {"disruptionsAllowed": 2, "disruptedPods": {"p": "2026-01-01T00:00:00Z"}}
    body = {"metadata": META, "spec": {"selector": LABELS}, "status": status}
    assert make("PodDisruptionBudget", body) == PodDisruptionBudget(
        namespace="ns", name="x", selector=SELECTOR, disruptions_allowed=2, disrupted_pods=frozenset({"p"})
    )
