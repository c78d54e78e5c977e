"""Writes to volumes and claims."""

from typing import Any

import pytest

from moorage.cluster.intents import Intent
from moorage.errors import Conflict
from runtime.volume_scene import (
    BIND_VOLUME,
    SELECT_NODE,
    SELECTED_NODE,
    binding_volumes,
    claim,
    claim_object,
    volume,
    volume_object,
)


async def test_volumes_are_written_before_claims_and_each_write_requires_the_version_of_the_decision() -> None:
    async with binding_volumes() as at:
        at.decide(SELECT_NODE, BIND_VOLUME)
        await at.wait()

    bound, selected = at.api.sent
    assert at.sent == ["PATCH pv", "PATCH cache"]
    assert {bound.content_type, selected.content_type} == {"application/merge-patch+json"}
    assert bound.body == {
        "metadata": {"resourceVersion": "10", "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}},
        "spec": {
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": "default",
                "name": "data",
                "uid": "uid-data",
            }
        },
    }
    assert selected.body == {"metadata": {"resourceVersion": "20", "annotations": {SELECTED_NODE: "n1"}}}


async def test_a_volume_that_a_user_reserved_for_the_claim_is_not_marked_as_bound_by_the_controller() -> None:
    async with binding_volumes() as at:
        at.see(volume("pv", "10", claim="data", uid=""))
        at.decide(BIND_VOLUME)
        await at.wait()

    assert "annotations" not in at.api.sent[0].body["metadata"]


async def test_objects_that_have_the_wanted_value_are_not_written() -> None:
    async with binding_volumes() as at:
        at.see(claim("cache", "22", node_name="n1"), volume("pv", "11", claim="data"))
        at.decide(BIND_VOLUME, SELECT_NODE)
        await at.wait()

        assert at.sent == []
        assert at.failures == []


@pytest.mark.parametrize(
    ("intent", "path", "now"),
    [
        (SELECT_NODE, "/api/v1/namespaces/default/persistentvolumeclaims/cache", ("cache", {"node_name": "n1"})),
        (BIND_VOLUME, "/api/v1/persistentvolumes/pv", ("pv", {"claim": "data"})),
    ],
)
async def test_a_conflict_is_ignored_if_the_object_has_the_wanted_value(intent: Intent, path: str, now: Any) -> None:
    build = claim_object if intent is SELECT_NODE else volume_object
    async with binding_volumes() as at:
        at.answers[f"PATCH {path}"] = Conflict(409, "Conflict", "the object has been modified")
        at.answers[f"GET {path}"] = build(now[0], "25", **now[1])
        at.decide(intent)
        await at.wait()
        assert at.failures == []

        at.answers[f"GET {path}"] = build(now[0], "25")
        at.decide(intent)
        await at.wait()
        assert at.failures == ["binding volumes: the object has been modified (409 Conflict)"]
