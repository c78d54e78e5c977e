from collections.abc import Callable
from typing import Any

import pytest

from builders import pod
from fakes import FakeApi, FakeClock, Sent, fixed_random, running, settle
from moorage.errors import ApiError, ApiUnreachable, Conflict, NotFound
from moorage.model.pods.pod import Pod
from moorage.runtime.latest_objects import LatestObjects
from moorage.runtime.pod_status_writer import PodScheduled, PodStatusWriter

WAITS = PodScheduled("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu.")


def condition(status: str = "False", reason: str = WAITS.reason, message: str = WAITS.message) -> dict[str, Any]:
    return {"conditions": [{"type": "PodScheduled", "status": status, "reason": reason, "message": message}]}


class Writing:
    def __init__(self, *pods: Pod, answer: Callable[[Sent], Any] = lambda _: {}) -> None:
        self.clock = FakeClock()
        self.api = FakeApi(answer, self.clock)
        self.pods = {each.key: each for each in pods}
        look = LatestObjects(self.pods, {})
        self.writer = PodStatusWriter(self.api.client(), look, self.clock, fixed_random())


async def test_the_condition_is_written_by_a_strategic_merge_patch_with_the_uid() -> None:
    writing = Writing(pod("p"))
    writing.writer.submit(pod("p"), WAITS)
    async with running(writing.writer):
        await settle()
    (sent,) = writing.api.sent
    assert (sent.method, sent.path) == ("PATCH", "/api/v1/namespaces/default/pods/p/status")
    assert sent.content_type == "application/strategic-merge-patch+json"
    assert sent.body == {
        "metadata": {"uid": "default/p"},
        "status": {
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": WAITS.message,
                    "lastTransitionTime": "1970-01-12T13:46:40Z",
                }
            ]
        },
    }


def test_a_condition_that_stays_false_keeps_its_transition_time() -> None:
    waiting = pod("p", status=condition(message="something else"))
    assert b"lastTransitionTime" not in WAITS.patch(waiting, 0)


def test_the_condition_has_the_generation_of_the_pod_if_the_api_server_tracks_generations() -> None:
    assert b'"observedGeneration":3' in WAITS.patch(pod("p", metadata={"generation": 3}), 0)
    assert b"observedGeneration" not in WAITS.patch(pod("p"), 0)


async def test_a_status_that_the_pod_already_has_is_not_written() -> None:
    writing = Writing(pod("p"))
    writing.writer.submit(pod("p", status=condition()), WAITS)
    assert len(writing.writer) == 0


@pytest.mark.parametrize(("nominated", "written"), [("n1", "n1"), ("", None)])
async def test_a_nomination_is_written_and_cleared(nominated: str, written: str | None) -> None:
    before = pod("p", status=condition() | {"nominatedNodeName": "old"})
    writing = Writing(before)
    writing.writer.submit(before, PodScheduled(WAITS.reason, WAITS.message, nominated))
    async with running(writing.writer):
        await settle()
    assert writing.api.sent[0].body["status"]["nominatedNodeName"] == written


async def test_a_status_without_a_nomination_leaves_the_nomination_unchanged() -> None:
    writing = Writing(pod("p"))
    writing.writer.submit(pod("p"), WAITS)
    async with running(writing.writer):
        await settle()
    assert "nominatedNodeName" not in writing.api.sent[0].body["status"]


async def test_only_the_last_of_several_queued_changes_is_written() -> None:
    writing = Writing(pod("p"))
    for number in range(3):
        writing.writer.submit(pod("p"), PodScheduled("Unschedulable", f"m{number}"))
    async with running(writing.writer):
        await settle()
    assert [sent.body["status"]["conditions"][0]["message"] for sent in writing.api.sent] == ["m2"]


@pytest.mark.parametrize("now", [None, pod("p", node="n1"), pod("p", metadata={"uid": "another"})])
async def test_the_status_of_a_pod_that_is_no_longer_pending_is_not_written(now: Pod | None) -> None:
    writing = Writing(*([now] if now else []))
    writing.writer.submit(pod("p"), WAITS)
    async with running(writing.writer):
        await settle()
    assert not writing.api.sent
    assert len(writing.writer) == 0


@pytest.mark.parametrize("error", [NotFound(404, "", ""), Conflict(409, "", "")])
async def test_a_write_is_not_retried_after_the_pod_was_deleted_or_created_again(error: ApiError) -> None:
    def answer(_: Sent) -> Any:
        raise error

    writing = Writing(pod("p"), answer=answer)
    writing.writer.submit(pod("p"), WAITS)
    async with running(writing.writer):
        await writing.clock.advance(60)
    assert len(writing.api.sent) == 1


async def test_a_retry_writes_the_newest_status() -> None:
    answers: list[Any] = [ApiUnreachable("down"), ApiError(500, "", "oops"), {}]

    def answer(_: Sent) -> Any:
        result = answers.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    writing = Writing(pod("p"), answer=answer)
    writing.writer.submit(pod("p"), WAITS)
    async with running(writing.writer):
        await writing.clock.advance(0.1)
        writing.writer.submit(pod("p"), PodScheduled("Unschedulable", "newer"))
        await writing.clock.advance(60)
    messages = [sent.body["status"]["conditions"][0]["message"] for sent in writing.api.sent]
    assert messages == [WAITS.message, "newer", "newer"]
    assert len(writing.writer) == 0


def test_a_message_with_a_reason_for_each_of_many_nodes_is_cut() -> None:
    wanted = PodScheduled("Unschedulable", "0/5000 nodes\n" + "x" * 5_000_000)
    assert wanted.message.startswith("0/5000 nodes xxx")
    assert len(wanted.message) == 32_768
