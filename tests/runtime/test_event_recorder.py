import tracemalloc
from typing import Any

import msgspec
import pytest

from builders import pod
from fakes import FakeApi, FakeClock, Sent, running, settle
from moorage.errors import ApiUnreachable, Conflict, Forbidden, NotFound
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
from moorage.runtime.metrics.process_metrics import ProcessMetrics
from scrape import sample


class Recording:
    def __init__(self, answer: Any = None, *, auto: bool = False) -> None:
        self.clock = FakeClock(auto=auto)
        self.api = FakeApi(answer or (lambda _: {}), self.clock)
        self.metrics = ProcessMetrics("api")
        self.recorder = EventRecorder(self.api.client(), "host", self.clock, self.metrics.recorder)

    async def send(self, *events: Event) -> None:
        """Record events, and send all queued events."""
        for event in events:
            self.recorder.record(event)
        async with running(self.recorder):
            while len(self.recorder):
                await settle()

    @property
    def created(self) -> list[Sent]:
        return [sent for sent in self.api.sent if sent.method == "POST"]

    @property
    def patched(self) -> list[Sent]:
        return [sent for sent in self.api.sent if sent.method == "PATCH"]

    def count(self, result: str) -> float:
        return sample(self.metrics, "moorage_events_total", result=result)


def policy_event(note: str = "note") -> Event:
    policy = ObjectReference("scheduling.moorage.dev/v1alpha1", "SchedulingPolicy", "gold", "uid-1")
    return Event(regarding=policy, reason="Accepted", action="Compile", note=note, reporter="gold")


async def test_the_event_of_a_bound_pod_has_the_fields_of_kube_scheduler() -> None:
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


async def test_the_event_of_a_victim_names_the_preemptor() -> None:
    recording = Recording()
    await recording.send(preempted(pod("victim", node="n1"), pod("vip"), "gold"))
    body = recording.created[0].body
    assert (body["reason"], body["action"], body["type"]) == ("Preempted", "Preempting", "Normal")
    assert body["related"]["name"] == "vip"


async def test_an_event_about_a_cluster_scoped_object_is_in_the_namespace_default() -> None:
    recording = Recording()
    await recording.send(policy_event())
    (sent,) = recording.created
    assert sent.path == "/apis/events.k8s.io/v1/namespaces/default/events"
    assert "namespace" not in sent.body["regarding"]


@pytest.mark.parametrize("note", ["x" * 5000, "ü" * 600, "a" + "ü" * 600])
def test_a_note_that_is_too_long_for_the_api_is_cut_after_a_whole_character(note: str) -> None:
    cut = cut_note(note)
    assert NOTE_BYTES - 4 <= len(cut.encode()) <= NOTE_BYTES
    assert cut.endswith(" ...")
    assert note.startswith(cut.removesuffix(" ..."))


def test_a_note_of_exactly_the_allowed_length_is_not_cut() -> None:
    assert cut_note("x" * NOTE_BYTES) == "x" * NOTE_BYTES


def test_a_note_is_one_printable_line() -> None:
    assert cut_note("no\nroom \x1b[31mred\u202e") == "no room red"


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
    assert recording.count("folded") == 3


async def test_the_count_of_a_running_series_is_written_about_once_a_minute() -> None:
    recording = Recording()
    async with running(recording.recorder):
        for _ in range(30):
            recording.recorder.record(failed_scheduling(pod("p"), "m", "gold"))
            await recording.clock.advance(10)
    counts = [sent.body["series"]["count"] for sent in recording.patched]
    assert counts == sorted(counts)
    assert 4 <= len(counts) <= 7
    assert counts[-1] >= 24


async def test_a_series_ends_after_six_minutes_without_an_event() -> None:
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
        await recording.send(event)
    assert len(recording.created) == 4


async def test_an_event_is_created_again_after_its_object_expired() -> None:
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


async def test_a_full_queue_drops_and_counts_its_oldest_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_recorder, "QUEUE_LENGTH", 3)
    recording = Recording()
    await recording.send(*(scheduled(pod(f"p{number}"), "n", "gold") for number in range(5)))
    assert [sent.body["regarding"]["name"] for sent in recording.created] == ["p2", "p3", "p4"]
    assert recording.count("dropped") == 2


async def test_the_queue_does_not_keep_long_notes() -> None:
    recording = Recording()
    tracemalloc.start()
    try:
        for number in range(50):
            recording.recorder.record(failed_scheduling(pod(f"p{number}"), f"{number}" * 100_000, "r"))
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(recording.recorder) == 50
    assert kept_bytes < 1_000_000


async def test_an_event_is_dropped_after_a_few_tries_to_reach_the_api_server() -> None:
    def answer(_: Sent) -> Any:
        raise ApiUnreachable("down")

    recording = Recording(answer, auto=True)
    await recording.send(policy_event())
    assert len(recording.created) == event_recorder.TRIES
    assert recording.count("dropped") == 1


async def test_an_event_is_counted_as_sent_if_the_second_try_finds_that_it_exists() -> None:
    errors = [ApiUnreachable("reset"), Conflict(409, "AlreadyExists", "it exists")]

    def answer(sent: Sent) -> Any:
        if sent.method == "POST" and errors:
            raise errors.pop(0)
        return {}

    recording = Recording(answer, auto=True)
    await recording.send(policy_event())
    assert recording.count("sent") == 1
    assert recording.count("refused") == 0


async def test_only_the_first_refused_event_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def answer(_: Sent) -> Any:
        raise Forbidden(403, "Forbidden", "namespace is being terminated")

    recording = Recording(answer)
    for name in ("p", "q"):
        await recording.send(scheduled(pod(name), "n", "gold"))
    assert recording.count("refused") == 2
    assert len(caplog.records) == 1


async def test_a_replica_that_does_not_lead_sends_no_event() -> None:
    recording = Recording()
    recording.api.may_write = lambda: False
    await recording.send(policy_event())
    assert not recording.api.sent


def test_a_reference_omits_empty_fields() -> None:
    assert b"resourceVersion" not in msgspec.json.encode(pod_reference(pod("p")))


async def test_an_event_is_counted_as_waiting_until_the_api_server_has_answered() -> None:
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
