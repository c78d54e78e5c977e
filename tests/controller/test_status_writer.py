import logging
from typing import Any

import pytest

from fakes import FakeApi, FakeClock, Sent, running, settle
from moorage.controller.status_writer import PolicyStatusWriter
from moorage.errors import ApiError, NotFound


class Writing:
    def __init__(self, answer: Any = None) -> None:
        self.clock = FakeClock()
        self.api = FakeApi(answer or (lambda _: {}), self.clock)
        self.writer = PolicyStatusWriter(self.api.client(), self.clock)

    @property
    def written(self) -> list[Any]:
        return [sent.body["status"] for sent in self.api.sent]


async def test_a_status_is_applied_to_the_policy_with_its_uid() -> None:
    writing = Writing()
    writing.writer.publish("gold", "uid-1", {"pods": {"bound": 1}})
    await writing.writer.flush()
    (sent,) = writing.api.sent
    assert sent.path == (
        "/apis/scheduling.moorage.dev/v1alpha1/schedulingpolicies/gold/status?fieldManager=moorage&force=true"
    )
    assert sent.content_type == "application/apply-patch+yaml"
    assert sent.body == {
        "apiVersion": "scheduling.moorage.dev/v1alpha1",
        "kind": "SchedulingPolicy",
        "metadata": {"name": "gold", "uid": "uid-1"},
        "status": {"pods": {"bound": 1}},
    }


async def test_an_unchanged_status_is_not_written() -> None:
    writing = Writing()
    async with running(writing.writer):
        for _ in range(10):
            writing.writer.publish("gold", "uid-1", {"pods": {"bound": 1}})
            await writing.clock.advance(1)
    assert len(writing.written) == 1


async def test_a_busy_policy_is_written_once_a_second_with_its_newest_numbers() -> None:
    writing = Writing()
    async with running(writing.writer):
        for bound in range(100):
            writing.writer.publish("gold", "uid-1", {"bound": bound})
            await writing.clock.advance(0.1)
    assert 9 <= len(writing.written) <= 11
    assert writing.written[-1]["bound"] >= 89


async def test_policies_do_not_wait_for_each_other() -> None:
    writing = Writing()
    for name in ("a", "b", "c"):
        writing.writer.publish(name, name, {})
    await writing.writer.flush()
    assert len(writing.api.sent) == 3


async def test_a_failed_write_is_repeated_until_the_api_server_is_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    down = [True]

    def answer(_: Sent) -> Any:
        if down[0]:
            raise ApiError(500, "InternalError", "down")
        return {}

    writing = Writing(answer)
    writing.writer.publish("gold", "uid-1", {"a": 1})
    async with running(writing.writer):
        await writing.clock.advance(5)
        down[0] = False
        await writing.clock.advance(5)
    assert len(writing.api.sent) == 7
    assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == 1


async def test_a_policy_whose_writes_keep_failing_is_logged_once_while_others_are_written(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def answer(sent: Sent) -> Any:
        if "/bad/" in sent.path:
            raise ApiError(422, "Invalid", "too long")
        return {}

    writing = Writing(answer)
    for bound in range(5):
        writing.writer.publish("bad", "uid-1", {"a": 1})
        writing.writer.publish("good", "uid-2", {"bound": bound})
        await writing.writer.flush()
        await writing.clock.advance(1)
    (message,) = caplog.messages
    assert message.startswith("The status of SchedulingPolicy bad cannot be written; trying again every 1 s: ")


async def test_a_forgotten_policy_is_not_written_again() -> None:
    def answer(_: Sent) -> Any:
        raise NotFound(404, "NotFound", "gone")

    writing = Writing(answer)
    writing.writer.publish("gold", "uid-1", {"a": 1})
    await writing.writer.flush()
    writing.writer.forget("gold")
    await writing.clock.advance(10)
    await writing.writer.flush()
    assert len(writing.api.sent) == 1


async def test_a_policy_that_was_created_again_gets_its_status_again() -> None:
    writing = Writing()
    writing.writer.publish("gold", "uid-1", {"a": 1})
    await writing.writer.flush()
    writing.writer.publish("gold", "uid-2", {"a": 1})
    await writing.writer.flush()
    assert [sent.body["metadata"]["uid"] for sent in writing.api.sent] == ["uid-1", "uid-2"]


def status(generation: int = 1, *, ready: str = "True", message: str = "", bound: int = 0) -> dict[str, Any]:
    condition = {"type": "Ready", "status": ready, "reason": "Ready", "message": message}
    return {"observedGeneration": generation, "conditions": [condition], "pods": {"bound": bound}}


async def test_the_first_status_is_written_at_once() -> None:
    writing = Writing()
    async with running(writing.writer):
        await writing.clock.advance(12.3)
        writing.writer.publish("gold", "uid-1", status())
        await settle()
        assert writing.written == [status()]


@pytest.mark.parametrize(
    ("changed", "seconds"),
    [
        (status(2), 0.1),
        (status(ready="False"), 0.1),
        (status(message="another text"), 1.0),
        (status(bound=1), 1.0),
    ],
    ids=["generation", "condition", "message", "count"],
)
async def test_a_change_that_users_wait_for_is_written_sooner_than_other_changes(
    changed: dict[str, Any], seconds: float
) -> None:
    writing = Writing()
    async with running(writing.writer):
        writing.writer.publish("gold", "uid-1", status())
        await settle()
        writing.writer.publish("gold", "uid-1", changed)
        await writing.clock.advance(seconds - 0.01)
        assert writing.written == [status()]
        await writing.clock.advance(0.02)
        assert writing.written == [status(), changed]


async def test_a_policy_that_is_edited_in_a_loop_is_written_ten_times_a_second() -> None:
    writing = Writing()
    async with running(writing.writer):
        for generation in range(1000):
            writing.writer.publish("gold", "uid-1", status(generation))
            await writing.clock.advance(0.01)
        await writing.clock.advance(1)
    assert 95 <= len(writing.written) <= 105
    assert writing.written[-1] == status(999)


async def test_a_write_that_hangs_delays_no_other_policy() -> None:
    writing = Writing()
    async with running(writing.writer):
        writing.api.released.clear()
        writing.writer.publish("hangs", "uid-1", status())
        await settle()
        writing.writer.publish("gold", "uid-2", status())
        await settle()
        assert [sent.path.split("/")[-2] for sent in writing.api.sent] == ["hangs", "gold"]


async def test_statuses_wait_while_another_replica_leads_and_are_written_afterwards() -> None:
    writing = Writing()
    writing.api.may_write = lambda: False
    async with running(writing.writer):
        writing.writer.publish("gold", "uid-1", status())
        await writing.clock.advance(10)
        assert writing.written == []
        writing.api.may_write = lambda: True
        await writing.clock.advance(1)
    assert writing.written == [status()]
