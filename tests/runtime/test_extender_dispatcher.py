"""The way between the engine and the extenders of many profiles."""

import asyncio
from collections.abc import Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from builders import pod
from extenders.calling import Caller, calling, whole_nodes, whole_pod
from extenders.server import FakeExtender, answering
from fakes import until
from moorage.api.extender import Extender
from moorage.engine.messages import ExtendersAnswered, Message
from moorage.engine.outcomes import CallExtenders
from moorage.errors import ExtenderError
from moorage.framework.profile import Profile, ProfileSettings
from moorage.model.pods.pod import Pod
from moorage.plugins.upstream.priority_sort import PrioritySort
from moorage.runtime.extenders.extender_context import ExtenderLimits
from moorage.runtime.extenders.extender_dispatcher import ClusterView, ExtendedWriter, ExtenderDispatcher


def profile(name: str, extender: FakeExtender, **fields: Any) -> Profile:
    body = {"urlPrefix": extender.url, "filterVerb": "filter", "nodeCacheCapable": True, **fields}
    settings = ProfileSettings(extenders=(Extender.model_validate(body),))
    return Profile(name=name, queue_sort=PrioritySort(), settings=settings)


class Asking:
    """Calls at work, and what they posted."""

    def __init__(self, caller: Caller) -> None:
        self.posted: list[Message] = []
        self.clock = caller.clock
        cluster = ClusterView(whole_nodes("n1", "n2"), lambda _: ())
        self.desk = ExtenderDispatcher(caller.ports, ExtenderLimits(), cluster, self.posted.append)

    @property
    def answers(self) -> list[ExtendersAnswered]:
        return [message for message in self.posted if isinstance(message, ExtendersAnswered)]

    def submit(self, asking: Profile, name: str, *node_names: str) -> None:
        self.desk.submit(CallExtenders(pod=whole_pod(name), profile=asking, node_names=node_names))


@asynccontextmanager
async def asking() -> Any:
    async with calling() as caller:
        made = Asking(caller)
        running = asyncio.create_task(made.desk.run())
        try:
            yield made
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def test_answers_are_posted_without_nodes_that_are_gone() -> None:
    async with FakeExtender({"n1": "no"}) as extender, asking() as made:
        made.submit(profile("gpu", extender), "p", "n1", "gone", "n2")
        await until(lambda: made.posted)

    assert made.posted == [ExtendersAnswered(pod_uid="default/p", node_names=frozenset({"n2"}), failed={"n1": "no"})]
    assert extender.asked[0].body["NodeNames"] == ["n1", "n2"]


async def test_other_profiles_go_on_while_one_s_extender_hangs() -> None:
    async with FakeExtender() as hanging, FakeExtender() as good, asking() as made:
        hanging.misbehave = hanging.never
        for number in range(ExtenderLimits().parallelism + 1):
            made.submit(profile("stuck", hanging), f"stuck-{number}", "n1")
        made.submit(profile("gpu", good), "p", "n1")
        await until(lambda: made.posted)

        assert [answer.pod_uid for answer in made.answers] == ["default/p"]


async def test_a_profile_keeps_its_caller_until_its_extenders_change() -> None:
    async with FakeExtender() as extender, asking() as made:
        first = made.desk.caller(profile("gpu", extender))

        assert made.desk.caller(profile("gpu", extender)) is first
        assert made.desk.caller(profile("other", extender)) is not first
        assert made.desk.caller(profile("gpu", extender, weight=3)) is not first


async def test_an_unforeseen_fault_is_posted_too() -> None:
    async with FakeExtender() as extender, asking() as made:
        faulty = ProfileSettings(extenders=("no extender",))  # type: ignore[arg-type]
        made.submit(Profile(name="faulty", queue_sort=PrioritySort(), settings=faulty), "p", "n1")
        made.submit(profile("gpu", extender), "q", "n1")
        await until(lambda: len(made.posted) == 2)

    assert made.answers[0].error == "AttributeError: 'str' object has no attribute 'ignorable'"
    assert made.answers[1].error is None


async def test_a_failing_extender_is_the_trouble_of_its_profile_until_it_answers_again() -> None:
    async with FakeExtender(misbehave=answering("", status=500)) as extender, asking() as made:
        assert made.desk.degradations(profile("gpu", extender)) == []
        made.submit(profile("gpu", extender), "p", "n1")
        await until(lambda: made.posted)
        (degradation,) = made.desk.degradations(profile("gpu", extender))
        assert degradation.reason == "ExtenderFailing"
        assert degradation.message.startswith(f"extender {extender.url} fails: it answered 500")

        extender.misbehave = None
        made.submit(profile("gpu", extender), "p", "n1")
        await until(lambda: len(made.posted) == 2)
        assert made.desk.degradations(profile("gpu", extender)) == []


async def test_the_next_step_fits_the_extender_and_says_when_nobody_has_called_it_again() -> None:
    async with FakeExtender(misbehave=answering("", status=500)) as extender, asking() as made:
        needed, ignorable = profile("gpu", extender), profile("spare", extender, ignorable=True)
        for _ in range(ExtenderLimits().failures_to_open):
            for asker in (needed, ignorable):
                made.submit(asker, "p", "n1")
            await until(lambda: len(made.posted) == 2)
            made.posted.clear()
        (fault,), (harmless,) = made.desk.degradations(needed), made.desk.degradations(ignorable)
        assert "set `ignorable: true`" in fault.message
        assert "pods are scheduled without it until then" in harmless.message
        assert "ignorable: true" not in harmless.message

        await made.clock.advance(ExtenderLimits().open_seconds)
        (stale,) = made.desk.degradations(needed)
        assert "it has not been called again since" in stale.message


class DefaultWriter:
    def __init__(self) -> None:
        self.bound: list[str] = []

    async def bind(self, bound: Pod, node_name: str) -> None:
        self.bound.append(f"{bound.name} to {node_name}")


async def test_pods_are_bound_by_their_profile_s_extender_or_by_default() -> None:
    default = DefaultWriter()
    async with FakeExtender() as extender, asking() as made:
        profiles: Mapping[str, Profile] = {
            "gpu": profile("gpu", extender, bindVerb="bind"),
            "plain": profile("plain", extender),
        }
        writer = ExtendedWriter(default, made.desk, lambda: profiles)
        for name in ("gpu", "plain", "unknown"):
            await writer.bind(pod(name, spec={"schedulerName": name}), "n1")
        extender.bind_error = "full"
        with pytest.raises(ExtenderError, match="full"):
            await writer.bind(pod("p", spec={"schedulerName": "gpu"}), "n1")

    assert [binding["PodName"] for binding in extender.bound] == ["gpu"]
    assert default.bound == ["plain to n1", "unknown to n1"]
