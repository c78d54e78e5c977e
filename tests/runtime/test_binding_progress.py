"""Progress of volume bindings: objects of the informers show whether a binding is pending, done or impossible."""

from typing import Any

import pytest
from msgspec.structs import replace

from runtime.volume_scene import BIND_VOLUME, POD, SELECT_NODE, binding_volumes, claim, volume


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda at: at.pods.clear(), "pod default/web was deleted while its volumes were being bound"),
        (lambda at: at.nodes.clear(), "node n1 was deleted while volumes were being bound for it"),
        (lambda at: at.claims.pop("default/cache"), "claim default/cache was deleted while its volume"),
        (lambda at: at.volumes.clear(), "volume pv was deleted before claim default/data was bound to it"),
        (lambda at: at.see(volume("pv", "12")), "volume pv is no longer reserved for claim default/data"),
        (
            lambda at: at.see(volume("pv", "12", claim="other")),
            "volume pv is no longer reserved for claim default/data",
        ),
        (
            lambda at: at.see(volume("pv", "12", claim="data", zone="b")),
            "volume pv cannot be used on node n1: its node affinity excludes it",
        ),
        (
            lambda at: at.see(claim("data", "12", volume="else", bound=True)),
            "claim default/data was bound to volume else instead of pv",
        ),
        (
            lambda at: at.see(claim("cache", "22")),
            "the provisioner of claim default/cache rejected node n1, see the claim's events",
        ),
        (
            lambda at: at.see(claim("cache", "22", node_name="n2")),
            "the provisioner of claim default/cache rejected node n1",
        ),
        (
            lambda at: at.see(
                volume("made", "30", claim="cache", zone="b"),
                claim("cache", "31", volume="made", node_name="n1"),
            ),
            "volume made cannot be used on node n1",
        ),
    ],
)
async def test_waiting_ends_when_a_binding_is_no_longer_possible(change: Any, reason: str) -> None:
    async with binding_volumes() as at:
        at.decide(BIND_VOLUME, SELECT_NODE)
        await at.wait()
        at.see(claim("cache", "21", node_name="n1"), volume("pv", "11", claim="data"))
        await at.wait()
        assert at.failures == []

        change(at)
        await at.wait()

        (failure,) = at.failures
        assert failure is not None
        assert failure.startswith(f"binding volumes: {reason}")
        assert at.passed_on == 0


async def test_binding_volumes_fails_if_the_pod_was_deleted_and_created_again() -> None:
    async with binding_volumes() as at:
        at.decide(SELECT_NODE)
        await at.wait()
        at.pods[POD.key] = replace(POD, uid="another")
        await at.wait()

        assert "pod default/web was deleted" in (at.failures[0] or "")


async def test_a_write_that_the_informer_has_not_received_is_pending() -> None:
    async with binding_volumes() as at:
        at.decide(BIND_VOLUME, SELECT_NODE)
        await at.wait(10)

        assert (at.failures, at.passed_on) == ([], 0)
