"""PreBind for volumes: the order of writes, waiting, timeouts, and errors."""

from builders import node, pod
from fakes import running, settle
from moorage.engine.messages import BindingFinished
from moorage.errors import ApiError
from moorage.runtime.binder import BACKLOG_PER_TASK
from runtime.volume_scene import (
    BIND_VOLUME,
    PATCH_VOLUME,
    POD,
    SELECT_NODE,
    TIMEOUT_SECONDS,
    binding_volumes,
    claim,
    volume,
)
from runtime_parts import RuntimeParts, bind_of


async def test_a_pod_without_volumes_to_bind_is_passed_on_at_once() -> None:
    async with binding_volumes() as at:
        at.decide()

        assert at.passed_on == 1
        assert at.sent == []


async def test_the_pod_is_passed_on_when_all_claims_are_bound() -> None:
    async with binding_volumes() as at:
        at.decide(BIND_VOLUME, SELECT_NODE)
        await at.wait()
        at.see(volume("pv", "11", claim="data"), claim("cache", "21", node_name="n1"))
        await at.wait()
        at.see(claim("data", "12", volume="pv", bound=True))
        await at.wait()
        assert (at.passed_on, len(at.volume_binder)) == (0, 1)

        at.see(volume("made", "30", claim="cache"), claim("cache", "31", volume="made", node_name="n1", bound=True))
        await at.wait()

        assert (at.passed_on, at.failures, len(at.volume_binder)) == (1, [], 0)


async def test_a_refused_write_ends_the_attempt_before_the_next_write() -> None:
    async with binding_volumes() as at:
        at.answers[PATCH_VOLUME] = ApiError.of(403, "Forbidden", "may not patch persistentvolumes")
        at.decide(BIND_VOLUME, SELECT_NODE)
        await at.wait()

        assert at.sent == ["PATCH pv"]
        message = "binding volumes: may not patch persistentvolumes (403 Forbidden)"
        assert at.posted == [BindingFinished(POD, "n1", message)]
        assert at.recorder.notes == [f"binding rejected: {message}"]
        assert at.passed_on == 0


async def test_waiting_ends_after_bind_timeout_seconds_with_the_pending_bindings() -> None:
    async with binding_volumes() as at:
        at.decide(BIND_VOLUME, SELECT_NODE)
        await at.wait()
        at.see(volume("pv", "11", claim="data"))
        await at.wait(TIMEOUT_SECONDS - 2)
        assert at.failures == []
        await at.wait(1)

        (failure,) = at.failures
        assert failure == (
            "binding volumes: not all are bound after 60 s: "
            "claim default/data (the volume controller binds it to volume pv), "
            "claim default/cache (written, but not yet received from the API server)"
        )
        assert len(at.volume_binder) == 0


async def test_a_pod_that_waits_does_not_delay_other_pods() -> None:
    async with binding_volumes() as at:
        at.decide(SELECT_NODE)
        await at.wait()
        at.decide()

        assert at.passed_on == 1
        assert len(at.volume_binder) == 1


async def test_a_bug_fails_one_pod_only() -> None:
    async with binding_volumes() as at:
        at.answers[PATCH_VOLUME] = b"no JSON"
        at.decide(BIND_VOLUME)
        await at.wait()
        assert len(at.failures) == 1
        at.decide(SELECT_NODE)
        await at.wait()

        assert at.sent == ["PATCH pv", "PATCH cache"]


async def test_an_unknown_intent_fails_the_attempt() -> None:
    async with binding_volumes() as at:
        at.decide("paint it green")  # type: ignore[arg-type]
        await at.wait()

        assert at.failures == ["binding volumes: TypeError: an intent of type str cannot be carried out"]


def test_the_volume_binder_is_full_while_the_binder_is_full() -> None:
    parts = RuntimeParts(parallelism=1)
    assert not parts.volume_binder.is_full
    for _ in range(BACKLOG_PER_TASK):
        parts.volume_binder.submit(bind_of(pod("p", node="n1")), 0.0)

    assert parts.volume_binder.is_full


async def test_a_pod_that_is_passed_on_keeps_the_start_time_of_its_attempt() -> None:
    parts = RuntimeParts()
    parts.pods["default/p"], parts.nodes["n1"] = pod("p"), node("n1")
    parts.volume_binder.submit(bind_of(pod("p", node="n1")), parts.clock.now)
    async with running(parts.volume_binder, parts.binder):
        await settle()

    assert parts.sent == ["POST p/binding"]
