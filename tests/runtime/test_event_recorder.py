from typing import Any

import msgspec
import pytest

from builders import pod
from fakes import FakeApi, FakeClock, FakeObserver, Sent, running, settle
from moorage.errors import ApiUnreachable, Forbidden, NotFound
from moorage.runtime.events import event_recorder
from moorage.runtime.events.event import (
    NOTE_BYTES,
    Event,
    ObjectReference,
    cut_note,
    failed_scheduling,
    pod_reference,
    preempted,
    scheduled,
)
from moorage.runtime.events.event_recorder import EventRecorder


class Recording:
    def __init__(self, answer: Any = None, *, auto: bool = False) -> None:
        self.clock = FakeClock(auto=auto)
        self.api = FakeApi(answer or (lambda _: {}), self.clock)
        self.observer = FakeObserver()
        self.recorder = EventRecorder(self.api.client(), "host", self.clock, self.observer)

    @property
    def created(self) -> list[Sent]:
        return [sent for sent in self.api.sent if sent.method == "POST"]

    @property
    def patched(self) -> list[Sent]:
        return [sent for sent in self.api.sent if sent.method == "PATCH"]

    @property
    def results(self) -> list[str]:
        return [result for (result,) in self.observer.named("event")]


def policy_event(note: str = "note") -> Event:
    policy = ObjectReference("scheduling.moorage.dev/v1alpha1", "SchedulingPolicy", "gold", "uid-1")
    return Event(regarding=policy, reason="Accepted", action="Compile", note=note, reporter="gold")


async def test_a_bound_pods_event_has_kube_schedulers_fields() -> None:
    recording = Recording()
    recording.recorder.record(scheduled(pod("p"), "n1", "gold"))
    async with running(recording.recorder):
        await settle()
    (sent,) = recording.created
    assert sent.path == "/apis/events.k8s.io/v1/namespaces/default/events"
    name = sent.body["metadata"].pop("name")
    assert name.startswith("p.")
    assert sent.body == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": "default"},
        "eventTime": "1970-01-12T13:46:40.000000Z",
        "reportingController": "gold",
        "reportingInstance": "gold-host",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "p", "uid": "default/p"},
        "note": "Successfully assigned default/p to n1",
        "type": "Normal",
    }


async def test_a_victims_event_names_the_preemptor() -> None:
    recording = Recording()
    recording.recorder.record(preempted(pod("victim", node="n1"), pod("vip"), "gold"))
    await recording.recorder.flush()
    body = recording.created[0].body
    assert (body["reason"], body["action"], body["type"]) == ("Preempted", "Preempting", "Normal")
    assert body["related"]["name"] == "vip"


async def test_events_about_objects_of_the_cluster_live_in_default_with_an_empty_namespace_inside() -> None:
    recording = Recording()
    recording.recorder.record(policy_event())
    await recording.recorder.flush()
    (sent,) = recording.created
    assert sent.path == "/apis/events.k8s.io/v1/namespaces/default/events"
    assert "namespace" not in sent.body["regarding"]


@pytest.mark.parametrize("note", ["x" * 5000, "ü" * 600, "a" + "ü" * 600])
def test_long_notes_are_cut_to_what_the_api_takes_at_a_characters_end(note: str) -> None:
    cut = cut_note(note)
    assert NOTE_BYTES - 4 <= len(cut.encode()) <= NOTE_BYTES
    assert cut.endswith(" ...")
    assert note.startswith(cut.removesuffix(" ..."))


def test_a_note_that_just_fits_is_left_alone() -> None:
    assert cut_note("x" * NOTE_BYTES) == "x" * NOTE_BYTES


async def test_repeated_events_become_a_series_with_the_first_note() -> None:
    recording = Recording()
    recorder, clock = recording.recorder, recording.clock
    async with running(recorder):
        for number in range(5):
            recorder.record(failed_scheduling(pod("p"), f"message {number}", "gold"))
            await clock.advance(1)
    assert [sent.body["note"] for sent in recording.created] == ["message 0"]
    (sent,) = recording.patched
    assert sent.path.endswith(f"/events/{recording.created[0].body['metadata']['name']}")
    assert sent.body["series"] == {"count": 2, "lastObservedTime": "1970-01-12T13:46:41.000000Z"}
    assert recording.results.count("folded") == 3


async def test_the_count_of_a_long_series_is_written_about_once_a_minute() -> None:
    recording = Recording()
    async with running(recording.recorder):
        for _ in range(30):
            recording.recorder.record(failed_scheduling(pod("p"), "m", "gold"))
            await recording.clock.advance(10)
    counts = [sent.body["series"]["count"] for sent in recording.patched]
    assert counts == sorted(counts)
    assert 4 <= len(counts) <= 7
    assert counts[-1] >= 24


async def test_a_series_ends_after_six_minutes_of_silence() -> None:
    recording = Recording()
    async with running(recording.recorder):
        recording.recorder.record(policy_event())
        await recording.clock.advance(361)
        recording.recorder.record(policy_event())
        await recording.clock.advance(1)
    assert len(recording.created) == 2


async def test_different_pods_and_reasons_are_different_series() -> None:
    recording = Recording()
    for event in (
        failed_scheduling(pod("p"), "m", "gold"),
        failed_scheduling(pod("q"), "m", "gold"),
        failed_scheduling(pod("p"), "m", "silver"),
        policy_event(),
    ):
        recording.recorder.record(event)
    await recording.recorder.flush()
    assert len(recording.created) == 4


async def test_a_series_whose_event_has_expired_begins_anew() -> None:
    def answer(sent: Sent) -> Any:
        if sent.method == "PATCH":
            raise NotFound(404, "NotFound", "gone")
        return {}

    recording = Recording(answer)
    async with running(recording.recorder):
        for _ in range(3):
            recording.recorder.record(policy_event())
            await recording.clock.advance(1)
    assert len(recording.created) == 2


async def test_a_full_queue_drops_the_oldest_and_counts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_recorder, "QUEUE_LENGTH", 3)
    recording = Recording()
    for number in range(5):
        recording.recorder.record(scheduled(pod(f"p{number}"), "n", "gold"))
    await recording.recorder.flush()
    assert [sent.body["regarding"]["name"] for sent in recording.created] == ["p2", "p3", "p4"]
    assert recording.results.count("dropped") == 2


async def test_an_unreachable_api_server_is_tried_a_few_times_and_then_the_event_is_dropped() -> None:
    def answer(_: Sent) -> Any:
        raise ApiUnreachable("down")

    recording = Recording(answer, auto=True)
    recording.recorder.record(policy_event())
    await recording.recorder.flush()
    assert len(recording.created) == event_recorder.TRIES
    assert recording.results == ["dropped"]


async def test_refused_events_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    def answer(_: Sent) -> Any:
        raise Forbidden(403, "Forbidden", "namespace is being terminated")

    recording = Recording(answer)
    for name in ("p", "q"):
        recording.recorder.record(scheduled(pod(name), "n", "gold"))
    await recording.recorder.flush()
    assert recording.results == ["refused", "refused"]
    assert len(caplog.records) == 1


async def test_nothing_is_sent_while_another_replica_leads() -> None:
    recording = Recording()
    recording.api.may_write = lambda: False
    recording.recorder.record(policy_event())
    await recording.recorder.flush()
    assert not recording.api.sent


def test_a_reference_leaves_out_what_is_empty() -> None:
    assert b"resourceVersion" not in msgspec.json.encode(pod_reference(pod("p")))


async def test_an_event_counts_as_waiting_until_the_api_server_has_answered() -> None:
    def no_answer(_: Sent) -> Any:
        raise ApiUnreachable("not yet")

    recording = Recording(no_answer)
    async with running(recording.recorder):
        recording.recorder.record(policy_event())
        await settle()
        assert len(recording.created) == 1
        assert len(recording.recorder) == 1
        await recording.clock.advance(60)
        assert len(recording.recorder) == 0
