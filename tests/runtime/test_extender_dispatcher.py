"""Calls of extenders for the engine and the binder."""

from collections.abc import Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from builders import node, pod
from extenders.calling import Caller, calling, whole_nodes, whole_pod
from extenders.server import FakeExtender, answering
from fakes import running, settle, until
from moorage.api.extender import Extender
from moorage.engine.candidate import Candidate
from moorage.engine.messages import ExtendersAnswered, Message
from moorage.engine.outcomes import AskAboutVictims, CallExtenders
from moorage.errors import ExtenderError
from moorage.framework.profile import Profile, ProfileSettings
from moorage.model.pods.pod import Pod
from moorage.plugins.upstream.priority_sort import PrioritySort
from moorage.runtime.extenders.extender_context import ExtenderLimits
from moorage.runtime.extenders.extender_dispatcher import ExtenderDispatcher
from runtime_parts import RuntimeParts, bind_of


def profile(name: str, extender: FakeExtender, **fields: Any) -> Profile:
    body = {"urlPrefix": extender.url, "filterVerb": "filter", "nodeCacheCapable": True, **fields}
    settings = ProfileSettings(extenders=(Extender.model_validate(body),))
    return Profile(name=name, queue_sort=PrioritySort(), settings=settings)


class Asking:
    """A dispatcher, and the messages that it posted."""

    def __init__(self, caller: Caller) -> None:
        self.posted: list[Message] = []
        self.clock = caller.clock
        nodes = whole_nodes("n1", "n2")
        self.dispatcher = ExtenderDispatcher(
            caller.context, ExtenderLimits(), nodes, self._candidate_of, self.posted.append
        )

    def _candidate_of(self, preemptor: Pod, node_name: str, uids: Sequence[str]) -> Candidate:
        raise NotImplementedError

    @property
    def answers(self) -> list[ExtendersAnswered]:
        return [message for message in self.posted if isinstance(message, ExtendersAnswered)]

    def submit(self, asking: Profile, name: str, *node_names: str) -> None:
        self.dispatcher.submit(CallExtenders(pod=whole_pod(name), profile=asking, node_names=node_names))


@asynccontextmanager
async def asking() -> Any:
    async with calling() as caller:
        made = Asking(caller)
        async with running(made.dispatcher):
            yield made


async def test_extenders_are_called_without_nodes_that_no_longer_exist() -> None:
    async with FakeExtender({"n1": "no"}) as extender, asking() as made:
        made.submit(profile("gpu", extender), "p", "n1", "gone", "n2")
        await until(lambda: made.posted)

    (answer,) = made.posted
    assert isinstance(answer, ExtendersAnswered)
    assert (answer.pod_uid, answer.node_names) == ("default/p", frozenset({"n2"}))
    assert answer.failed == {"n1": "no"}
    assert extender.asked[0].body["NodeNames"] == ["n1", "n2"]


async def test_a_hanging_extender_does_not_delay_other_profiles() -> None:
    async with FakeExtender() as hanging, FakeExtender() as good, asking() as made:
        hanging.misbehave = hanging.never
        for number in range(ExtenderLimits().parallelism + 1):
            made.submit(profile("stuck", hanging), f"stuck-{number}", "n1")
        made.submit(profile("gpu", good), "p", "n1")
        await until(lambda: made.posted)

        assert [answer.pod_uid for answer in made.answers] == ["default/p"]


async def test_a_profile_makes_at_most_parallelism_preempt_calls_at_the_same_time() -> None:
    limit = ExtenderLimits().parallelism
    async with FakeExtender() as hanging, asking() as made:
        hanging.misbehave = hanging.never
        stuck = profile("stuck", hanging, filterVerb=None, preemptVerb="preempt")
        candidates = (Candidate("n1", (pod("victim", node="n1"),), 0),)
        for number in range(limit + 3):
            preemptor = whole_pod(f"stuck-{number}", spec={"priority": 10})
            made.dispatcher.submit(AskAboutVictims(pod=preemptor, profile=stuck, candidates=candidates))
        await until(lambda: len(hanging.asked) >= limit)
        await settle()
        assert len(hanging.asked) == limit


async def test_a_profile_keeps_its_extenders_until_their_configuration_changes() -> None:
    async with FakeExtender() as extender, asking() as made:
        first = made.dispatcher.extenders_of(profile("gpu", extender))

        assert made.dispatcher.extenders_of(profile("gpu", extender)) is first
        assert made.dispatcher.extenders_of(profile("other", extender)) is not first
        assert made.dispatcher.extenders_of(profile("gpu", extender, weight=3)) is not first


async def test_an_unexpected_error_of_a_call_is_posted_as_its_answer() -> None:
    async with FakeExtender() as extender, asking() as made:
        faulty = ProfileSettings(extenders=("no extender",))  # type: ignore[arg-type]
        made.submit(Profile(name="faulty", queue_sort=PrioritySort(), settings=faulty), "p", "n1")
        made.submit(profile("gpu", extender), "q", "n1")
        await until(lambda: len(made.posted) == 2)

    assert made.answers[0].error == "AttributeError: 'str' object has no attribute 'ignorable'"
    assert made.answers[1].error is None


async def test_a_failing_extender_degrades_its_profile_until_the_extender_answers_again() -> None:
    async with FakeExtender(misbehave=answering("", status=500)) as extender, asking() as made:
        assert made.dispatcher.degradations(profile("gpu", extender)) == []
        made.submit(profile("gpu", extender), "p", "n1")
        await until(lambda: made.posted)
        (degradation,) = made.dispatcher.degradations(profile("gpu", extender))
        assert degradation.reason == "ExtenderFailing"
        assert degradation.message.startswith(f"extender {extender.url} fails: answered with status 500")

        extender.misbehave = None
        made.submit(profile("gpu", extender), "p", "n1")
        await until(lambda: len(made.posted) == 2)
        assert made.dispatcher.degradations(profile("gpu", extender)) == []


async def test_message_and_readiness_depend_on_the_field_ignorable_and_on_the_circuit_breaker() -> None:
    async with FakeExtender(misbehave=answering("", status=500)) as extender, asking() as made:
        needed, ignorable = profile("gpu", extender), profile("spare", extender, ignorable=True)
        for _ in range(ExtenderLimits().failures_to_open):
            for asker in (needed, ignorable):
                made.submit(asker, "p", "n1")
            await until(lambda: len(made.posted) == 2)
            made.posted.clear()
        (fault,), (harmless,) = made.dispatcher.degradations(needed), made.dispatcher.degradations(ignorable)
        assert (fault.ready, harmless.ready) == ("False", "True")
        assert fault.subject == extender.url
        assert "set `ignorable: true`" in fault.message
        assert "until then, pods are scheduled without it" in harmless.message
        assert "ignorable: true" not in harmless.message

        await made.clock.advance(ExtenderLimits().open_seconds)
        (stale,) = made.dispatcher.degradations(needed)
        assert "it may work again" in stale.message
        assert stale.ready == "Unknown"
        (harmless,) = made.dispatcher.degradations(ignorable)
        assert harmless.ready == "True"


async def test_an_extender_with_a_bind_verb_binds_the_pods_of_its_profile() -> None:
    async with FakeExtender() as extender, asking() as made:
        binding, plain = profile("gpu", extender, bindVerb="bind"), profile("plain", extender)
        assert await made.dispatcher.bind(binding, pod("p"), "n1")
        assert not await made.dispatcher.bind(plain, pod("q"), "n1")
        extender.bind_error = "full"
        with pytest.raises(ExtenderError, match="full"):
            await made.dispatcher.bind(binding, pod("r"), "n1")

    assert [binding["PodName"] for binding in extender.bound] == ["p"]


async def test_the_binder_writes_no_binding_for_a_pod_that_an_extender_binds() -> None:
    async with FakeExtender() as extender, asking() as made:
        bound = {"kind": "Status", "metadata": {"uid": "default/p"}, "spec": {"nodeName": "n1"}}
        parts = RuntimeParts(lambda _: bound)
        parts.nodes["n1"] = node("n1")
        parts.pods.update({f"default/{name}": pod(name) for name in ("p", "q")})
        parts.binder.extenders = made.dispatcher
        parts.binder.submit(
            bind_of(pod("p", node="n1"), profile=profile("gpu", extender, bindVerb="bind")), parts.clock.now
        )
        parts.binder.submit(bind_of(pod("q", node="n1"), profile=profile("plain", extender)), parts.clock.now)
        async with running(parts.binder):
            await until(lambda: len(parts.posted) == 2)

    assert [binding["PodName"] for binding in extender.bound] == ["p"]
    assert sorted(parts.sent) == ["GET p", "POST q/binding"]
