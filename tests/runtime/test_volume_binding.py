"""Volumes before the binding: what is written, what is waited for, and when waiting ends."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from builders import make, node, pod
from fakes import FakeApi, FakeClock, Sent, settle
from moorage.cluster.intents import BindVolume, Intent, SelectNode
from moorage.engine.cycle.decision import Decision
from moorage.engine.messages import BindingFinished
from moorage.engine.outcomes import Bind
from moorage.errors import ApiError, Conflict
from moorage.framework.profile import Profile
from moorage.model.volumes.storage_objects import PersistentVolume, PersistentVolumeClaim
from moorage.plugins.upstream.priority_sort import PrioritySort
from moorage.plugins.upstream.volume_binding import VolumeBinding
from moorage.runtime.volumes.volume_binder import Handover, VolumeBinder
from moorage.runtime.volumes.volume_stores import VolumeStores
from moorage.runtime.volumes.volume_writer import VolumeWriter

TIMEOUT_SECONDS = 60
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
SELECTED_NODE = "volume.kubernetes.io/selected-node"
POD = pod("web", node="n1")
BIND_VOLUME = BindVolume(
    volume_name="pv",
    volume_resource_version="10",
    claim_namespace="default",
    claim_name="data",
    claim_uid="uid-data",
)
SELECT_NODE = SelectNode(claim_namespace="default", claim_name="cache", claim_resource_version="20", node_name="n1")


def claim_object(name: str, version: str, *, volume: str = "", node_name: str = "", bound: bool = False) -> Any:
    annotations = {**(BOUND if bound else {}), **({SELECTED_NODE: node_name} if node_name else {})}
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": version}
    return {
        "metadata": {**metadata, "annotations": annotations},
        "spec": {"storageClassName": "fast", "volumeName": volume, "resources": {"requests": {"storage": "1Gi"}}},
    }


def volume_object(name: str, version: str, *, claim: str = "", uid: str | None = None, zone: str = "") -> Any:
    reference = {"namespace": "default", "name": claim, "uid": f"uid-{claim}" if uid is None else uid}
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}]
    return {
        "metadata": {"name": name, "resourceVersion": version},
        "spec": {
            "capacity": {"storage": "1Gi"},
            **({"claimRef": reference} if claim else {}),
            **({"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if zone else {}),
        },
    }


def claim(name: str, version: str, **fields: Any) -> PersistentVolumeClaim:
    made: PersistentVolumeClaim = make("PersistentVolumeClaim", claim_object(name, version, **fields))
    return made


def volume(name: str, version: str, **fields: Any) -> PersistentVolume:
    made: PersistentVolume = make("PersistentVolume", volume_object(name, version, **fields))
    return made


class Scene:
    """A volume binder between an API server, informers that the test moves, and a binder."""

    is_full = False

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.pods, self.nodes = {POD.key: POD}, {"n1": node("n1", labels={"zone": "a"})}
        self.claims = {one.key: one for one in (claim("data", "9"), claim("cache", "20"))}
        self.volumes = {"pv": volume("pv", "10")}
        stores = VolumeStores(pods=self.pods, nodes=self.nodes, claims=self.claims, volumes=self.volumes)
        self.api = FakeApi(self._answer)
        self.answers: dict[str, Any] = {
            "PATCH /api/v1/persistentvolumes/pv": volume_object("pv", "11", claim="data"),
            "PATCH /api/v1/namespaces/default/persistentvolumeclaims/cache": claim_object(
                "cache", "21", node_name="n1"
            ),
        }
        self.bound: list[Bind] = []
        self.posted: list[BindingFinished] = []
        self.failures: list[str] = []
        writer = VolumeWriter(self.api.client(), stores)
        self.binder = VolumeBinder(writer, stores, self.clock, Handover(self, self, self.posted.append))

    def _answer(self, sent: Sent) -> Any:
        answer = self.answers[f"{sent.method} {sent.path}"]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def submit(self, bind: Bind, started_at: float) -> None:
        assert started_at == 5.0
        self.bound.append(bind)

    def bind_failed(self, bind: Bind, message: str, started_at: float) -> None:
        assert (bind.pod, started_at) == (POD, 5.0)
        self.failures.append(message)

    def decide(self, *intents: Intent) -> None:
        plugin = VolumeBinding(bind_timeout_seconds=TIMEOUT_SECONDS)
        bind = Bind(
            pod=POD,
            node_name="n1",
            profile=Profile(name="gpu", queue_sort=PrioritySort(), reserve=(plugin,)),
            intents=intents,
            decision=Decision("n1", 1, 1, 1),
            attempts=1,
            first_attempt_at=0.0,
        )
        self.binder.submit(bind, 5.0)

    async def wait(self, seconds: float = 1) -> None:
        await settle()
        await self.clock.advance(seconds)

    def see(self, *objects: PersistentVolume | PersistentVolumeClaim) -> None:
        for one in objects:
            if isinstance(one, PersistentVolume):
                self.volumes[one.name] = one
            else:
                self.claims[one.key] = one

    @property
    def sent(self) -> Sequence[str]:
        return [f"{sent.method} {sent.path.rpartition('/')[2]}" for sent in self.api.sent]


@asynccontextmanager
async def scene() -> AsyncIterator[Scene]:
    made = Scene()
    running = asyncio.create_task(made.binder.run())
    yield made
    assert not running.done()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_pod_without_volumes_to_bind_goes_straight_on() -> None:
    async with scene() as at:
        at.decide()

        assert len(at.bound) == 1
        assert at.sent == []


async def test_volumes_are_written_first_each_at_the_version_that_was_decided_about() -> None:
    async with scene() as at:
        at.decide(SELECT_NODE, BIND_VOLUME)
        await at.wait()

    written, selected = at.api.sent
    assert at.sent == ["PATCH pv", "PATCH cache"]
    assert {written.content_type, selected.content_type} == {"application/merge-patch+json"}
    assert written.body == {
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


async def test_the_pod_goes_on_when_all_claims_are_bound() -> None:
    async with scene() as at:
        at.decide(BIND_VOLUME, SELECT_NODE)
        await at.wait()
        at.see(volume("pv", "11", claim="data"), claim("cache", "21", node_name="n1"))
        await at.wait()
        at.see(claim("data", "12", volume="pv", bound=True))
        await at.wait()
        assert (at.bound, len(at.binder)) == ([], 1)

        at.see(volume("made", "30", claim="cache"), claim("cache", "31", volume="made", node_name="n1", bound=True))
        await at.wait()

        assert len(at.bound) == 1
        assert (at.failures, at.posted, len(at.binder)) == ([], [], 0)


async def test_a_volume_that_somebody_kept_for_the_claim_is_not_marked_as_the_controller_s_choice() -> None:
    async with scene() as at:
        at.see(volume("pv", "10", claim="data", uid=""))
        at.decide(BIND_VOLUME)
        await at.wait()

    assert "annotations" not in at.api.sent[0].body["metadata"]


async def test_what_is_so_already_is_not_written() -> None:
    async with scene() as at:
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
async def test_a_conflict_with_somebody_who_wanted_the_same_is_none(intent: Intent, path: str, now: Any) -> None:
    build = claim_object if intent is SELECT_NODE else volume_object
    async with scene() as at:
        at.answers[f"PATCH {path}"] = Conflict(409, "Conflict", "the object has been modified")
        at.answers[f"GET {path}"] = build(now[0], "25", **now[1])
        at.decide(intent)
        await at.wait()
        assert at.failures == []

        at.answers[f"GET {path}"] = build(now[0], "25")
        at.decide(intent)
        await at.wait()
        assert at.failures == ["binding volumes: the object has been modified (409 Conflict)"]


async def test_a_refused_write_fails_the_attempt_before_anything_is_waited_for() -> None:
    async with scene() as at:
        path = "PATCH /api/v1/persistentvolumes/pv"
        at.answers[path] = ApiError.of(403, "Forbidden", "may not patch persistentvolumes")
        at.decide(BIND_VOLUME, SELECT_NODE)
        await at.wait()

        assert at.sent == ["PATCH pv"]
        message = "binding volumes: may not patch persistentvolumes (403 Forbidden)"
        assert at.failures == [message]
        assert at.posted == [BindingFinished(POD, "n1", message)]
        assert at.bound == []


async def test_waiting_ends_with_bind_timeout_seconds_and_names_what_is_missing() -> None:
    async with scene() as at:
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
            "claim default/cache (sent, not seen yet)"
        )
        assert len(at.binder) == 0


async def test_a_pod_that_waits_holds_up_no_other() -> None:
    async with scene() as at:
        at.decide(SELECT_NODE)
        await at.wait()
        at.decide()

        assert len(at.bound) == 1
        assert len(at.binder) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda at: at.pods.clear(), "pod default/web was deleted while its volumes were being bound"),
        (lambda at: at.nodes.clear(), "node n1 was deleted while volumes were being bound for it"),
        (lambda at: at.claims.pop("default/cache"), "claim default/cache was deleted while its volume"),
        (lambda at: at.volumes.clear(), "volume pv, which claim default/data was to get, was deleted"),
        (lambda at: at.see(volume("pv", "12")), "volume pv was taken from claim default/data again"),
        (lambda at: at.see(volume("pv", "12", claim="other")), "volume pv was taken from claim default/data again"),
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
            "the provisioner of claim default/cache gave node n1 back, see the claim's events",
        ),
        (
            lambda at: at.see(claim("cache", "22", node_name="n2")),
            "the provisioner of claim default/cache gave node n1 back",
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
async def test_waiting_ends_when_it_cannot_succeed_any_more(change: Any, words: str) -> None:
    async with scene() as at:
        at.decide(BIND_VOLUME, SELECT_NODE)
        await at.wait()
        at.see(claim("cache", "21", node_name="n1"), volume("pv", "11", claim="data"))
        await at.wait()
        assert at.failures == []

        change(at)
        await at.wait()

        (failure,) = at.failures
        assert failure.startswith(f"binding volumes: {words}")
        assert len(at.posted) == 1
        assert at.bound == []


async def test_another_pod_of_the_same_name_is_not_the_one() -> None:
    async with scene() as at:
        at.decide(SELECT_NODE)
        await at.wait()
        at.pods[POD.key] = replace(POD, uid="another")
        await at.wait()

        assert "pod default/web was deleted" in at.failures[0]


async def test_an_informer_that_lags_behind_is_waited_for() -> None:
    async with scene() as at:
        at.decide(BIND_VOLUME, SELECT_NODE)
        await at.wait(10)

        assert (at.failures, at.bound) == ([], [])


async def test_an_unforeseen_fault_fails_one_pod_only() -> None:
    async with scene() as at:
        at.answers["PATCH /api/v1/persistentvolumes/pv"] = b"no JSON"
        at.decide(BIND_VOLUME)
        await at.wait()
        assert len(at.failures) == 1
        at.decide(SELECT_NODE)
        await at.wait()

        assert at.sent == ["PATCH pv", "PATCH cache"]


async def test_an_intent_that_nobody_knows_is_not_passed_over() -> None:
    async with scene() as at:
        at.decide("paint it green")  # type: ignore[arg-type]
        await at.wait()

        assert at.failures == ["binding volumes: TypeError: nobody carries out a plugin's intent of type str"]


async def test_is_as_full_as_the_binder() -> None:
    async with scene() as at:
        at.is_full = True

        assert at.binder.is_full
