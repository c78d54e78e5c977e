"""Writes with damaged bodies. Each write returns an object or an error below 500. Only bindings may return 500."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.sandbox.api_status import StatusError
from moorage.sandbox.http.tables import Tables
from moorage.sandbox.objects import copy, key_of
from moorage.sandbox.operations.object_registry import ObjectRegistry
from moorage.sandbox.operations.pod_binding import bind
from moorage.sandbox.operations.pod_eviction import evict
from moorage.sandbox.operations.request_options import WriteOptions
from moorage.sandbox.operations.targets import Target
from moorage.sandbox.simulation.initial_objects import create_initial_objects
from moorage.sandbox.storage.store import Record, Store
from sandbox.api_objects import binding, pod, widget_definition
from sandbox.kube_api import APPLY, JSON_PATCH, MERGE, STRATEGIC, Object

FEW = settings(max_examples=40, deadline=None)
NOW = datetime(2026, 11, 30, tzinfo=UTC)
JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
    st.just("-1"),
    st.just("1e999999999"),
)
FULL_POD = pod(
    "p",
    resources={"requests": {"cpu": "1"}, "limits": {"cpu": "1"}},
    metadata={"labels": {"a": "b"}, "finalizers": ["x.dev/y"], "ownerReferences": []},
    tolerations=[{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}],
    schedulingGates=[{"name": "x.dev/gate"}],
    readinessGates=[{"conditionType": "x.dev/ready"}],
    nodeSelector={"a": "b"},
    initContainers=[{"name": "i", "image": "i", "restartPolicy": "Always", "ports": [{"containerPort": 1}]}],
    overhead={"cpu": "1"},
)
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "b"},
    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}, "matchExpressions": []}},
}
SPEC = {"mode": "Fast", "weight": 1, "tags": ["a"], "labels": {"a": "b"}, "ports": [{"number": 1}]}
WIDGET = {"apiVersion": "example.dev/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": SPEC}
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n", "labels": {"a": "b"}},
    "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]},
    "status": {"capacity": {"cpu": "1"}, "conditions": [{"type": "Ready", "status": "True"}], "images": []},
}
OBJECTS = [FULL_POD, BUDGET, WIDGET, NODE, widget_definition("other.dev")]


@cache
def cluster() -> ObjectRegistry:
    registry = ObjectRegistry(Store(), lambda: NOW)
    create_initial_objects(registry, [], [widget_definition("example.dev")])
    return registry


@contextmanager
def cleaned(registry: ObjectRegistry, obj: Object) -> Iterator[ObjectRegistry]:
    """Delete the objects that an example creates."""
    collection = target_of(registry, obj).resource.collection
    before = {key_of(record.obj) for record in registry.store.records(collection)}
    try:
        yield registry
    finally:
        for record in registry.store.records(collection):
            if key_of(record.obj) not in before:
                registry.store.delete(collection, key_of(record.obj))


def target_of(registry: ObjectRegistry, obj: Object, **fields: str) -> Target:
    resource = registry.resources.of_kind(obj["apiVersion"], obj["kind"])
    assert resource is not None
    return Target(resource, "default" if resource.namespaced else "", **fields)


def paths_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        yield from paths_in(item, (*path, name))


@st.composite
def damaged(draw: st.DrawFn, obj: Object) -> Object:
    """Replace or remove some parts of an object."""
    result = copy(obj)
    for path in draw(st.lists(st.sampled_from(list(paths_in(obj))), min_size=1, max_size=3)):
        parent = result
        try:
            for step in path[:-1]:
                parent = parent[step]
            if draw(st.booleans()):
                parent[path[-1]] = draw(JUNK)
            else:
                del parent[path[-1]]
        except (KeyError, IndexError, TypeError):
            continue  # an earlier replacement has removed this part
    found: Object = result
    return found


def error_code(action: Callable[[], object]) -> int:
    """Return the code of the StatusError that an action raises, or 0 if the action raises no StatusError."""
    try:
        action()
    except StatusError as error:
        return error.code
    return 0


@pytest.mark.parametrize("obj", OBJECTS, ids=lambda obj: obj["kind"])
@given(data=st.data())
@FEW
def test_create_accepts_or_refuses_a_damaged_object(obj: Object, data: st.DataObject) -> None:
    body = data.draw(damaged(obj))
    with cleaned(cluster(), obj) as registry:
        created: list[Record] = []
        code = error_code(
            lambda: created.append(registry.create(target_of(registry, obj), body, WriteOptions(named=True)))
        )
        assert code == 0 or 400 <= code < 500
        for record in created:
            resource = target_of(registry, obj).resource
            table = Tables(lambda: NOW).table(resource, [record], {}, "Object")
            assert len(table["rows"][0]["cells"]) == len(table["columnDefinitions"])


@pytest.mark.parametrize("content_type", [MERGE, STRATEGIC, APPLY])
@pytest.mark.parametrize("obj", [FULL_POD, WIDGET, NODE], ids=lambda obj: obj["kind"])
@given(data=st.data())
@FEW
def test_patch_accepts_or_refuses_a_damaged_object(obj: Object, content_type: str, data: st.DataObject) -> None:
    body = data.draw(damaged(obj))
    subresource = data.draw(st.sampled_from(["", "status"]))
    with cleaned(cluster(), obj) as registry:
        registry.create(target_of(registry, obj), obj, WriteOptions())
        target = target_of(registry, obj, name=obj["metadata"]["name"], subresource=subresource)
        code = error_code(lambda: registry.patch(target, content_type, body, WriteOptions(named=True, force=True)))
        assert code == 0 or 400 <= code < 500


OPERATION = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x"]),
        "path": st.sampled_from(["", "/", "/spec/weight", "/spec/ports/0", "/spec/ports/-", "/metadata", "x"]),
        "from": st.sampled_from(["", "/spec", "/none"]),
        "value": JUNK,
    }
)


@given(operations=st.lists(st.one_of(JUNK, OPERATION), max_size=3))
@FEW
def test_patch_accepts_or_refuses_damaged_json_patch_operations(operations: list[Any]) -> None:
    with cleaned(cluster(), WIDGET) as registry:
        registry.create(target_of(registry, WIDGET), WIDGET, WriteOptions())
        target = target_of(registry, WIDGET, name="w")
        code = error_code(lambda: registry.patch(target, JSON_PATCH, operations, WriteOptions()))
        assert code == 0 or 400 <= code < 500


@pytest.mark.parametrize("verb", [bind, evict])
@given(data=st.data())
@FEW
def test_bind_and_evict_accept_or_refuse_a_damaged_object(
    verb: Callable[[ObjectRegistry, Target, Any], Object], data: st.DataObject
) -> None:
    body = data.draw(st.one_of(JUNK, damaged(binding("p", "n", annotations={"a": "b"}))))
    with cleaned(cluster(), FULL_POD) as registry:
        registry.create(target_of(registry, FULL_POD), pod("p"), WriteOptions())
        code = error_code(lambda: verb(registry, target_of(registry, FULL_POD, name="p"), body))
        assert code == 0 or 400 <= code <= 500
