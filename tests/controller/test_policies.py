"""PolicyStore: the live profile of each schedulerName, and the state of each policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from moorage.api.policy_size import MAX_SPEC_BYTES
from moorage.api.v1alpha1 import SchedulingPolicy
from moorage.controller.policies import PolicyStore
from moorage.controller.policy_room import PolicyRoom
from moorage.controller.policy_state import PolicyChanges, PolicyRefusal, PolicyState
from moorage.errors import ConfigurationError, Fault, PolicyNotAllowed, UnknownPlugin
from moorage.framework.profile import Profile
from moorage.plugins.upstream.priority_sort import PrioritySort


def manifest(name: str, *, generation: int = 1, uid: str = "", age: int = 0, **spec: Any) -> dict[str, Any]:
    metadata = {
        "name": name,
        "uid": uid or f"uid-{name}",
        "generation": generation,
        "creationTimestamp": f"2026-01-01T00:00:{59 - age:02}Z",
    }
    return {"metadata": metadata, "spec": spec}


def resync(store: PolicyStore, manifests: Iterable[Mapping[str, Any]]) -> PolicyChanges:
    """Resync the store, and return all changes together."""
    steps = [*store.resync(manifests)]
    return PolicyChanges(
        profiles=tuple(profile for step in steps for profile in step.profiles),
        removed=tuple(name for step in steps for name in step.removed),
        refused={name: text for step in steps for name, text in step.refused.items()},
        states=tuple(state for step in steps for state in step.states),
        deleted=tuple(name for step in steps for name in step.deleted),
    )


def build(policy: SchedulingPolicy) -> Profile:
    if "Nonsense" in policy.spec.weights:
        raise UnknownPlugin("Nonsense")
    if "NodePorts" in policy.spec.weights:
        raise ConfigurationError([Fault(("weights", "NodePorts"), None, "is no score")])
    return Profile(name=policy.scheduler_name, queue_sort=PrioritySort())


def state(store: PolicyStore, name: str) -> PolicyState:
    (found,) = [state for state in store.states() if state.name == name]
    return found


class CountingNames(frozenset[str]):
    """Reserved schedulerNames. The store looks up a name when it chooses the owner; `lookups` counts the look-ups."""

    lookups = 0

    def __contains__(self, name: object) -> bool:
        self.lookups += 1
        return super().__contains__(name)


def test_a_policy_is_live_from_its_first_event_until_its_deletion() -> None:
    store = PolicyStore(build)
    seen = store.replace(manifest("gold"))
    assert [profile.name for profile in seen.profiles] == ["gold"]
    assert state(store, "gold").refusal is None
    assert store.remove(manifest("gold")).removed == ("gold",)
    assert list(store.states()) == []


def test_policies_beyond_the_limit_are_refused_until_others_are_deleted() -> None:
    store = PolicyStore(build, room=PolicyRoom(policies=2))
    manifests = [manifest("young", age=0), manifest("old", age=9), manifest("middle", age=5)]
    assert {profile.name for profile in resync(store, manifests).profiles} == {"old", "middle"}
    assert state(store, "young").refusal == PolicyRefusal(
        "TooManyPolicies",
        "the operator accepts 2 policies at most; delete others, and this one is accepted within a minute",
    )
    assert state(store, "young").observed_generation == 1
    assert resync(store, manifests) == PolicyChanges()

    assert [profile.name for profile in resync(store, manifests[:2]).profiles] == ["young"]
    assert state(store, "young").refusal is None


def test_an_accepted_policy_can_be_edited_at_the_limit() -> None:
    store = PolicyStore(build, room=PolicyRoom(policies=1))
    store.replace(manifest("gold"))
    store.replace(manifest("late"))
    assert [profile.name for profile in store.replace(manifest("gold", generation=2)).profiles] == ["gold"]
    assert store.replace(manifest("late", generation=2)).profiles == ()
    assert state(store, "late").observed_generation == 2


def test_policies_are_refused_if_all_specs_together_are_too_large() -> None:
    store = PolicyStore(build, room=PolicyRoom(total_bytes=300))
    large: dict[str, Any] = {"zones": {"allow": ["x" * 100]}}
    store.replace(manifest("first", **large))
    store.replace(manifest("second", **large))
    store.replace(manifest("third", **large))
    refusal = state(store, "third").refusal
    assert refusal is not None
    assert refusal.reason == "TooManyPolicies"
    assert refusal.message == (
        "the spec has 124 bytes, and the specs of all policies together may have 300; delete or shorten others, and "
        "this one is accepted within a minute"
    )

    store.replace(manifest("first", generation=2))
    resync(store, [manifest("first", generation=2), manifest("second", **large), manifest("third", **large)])
    assert "TooManyPolicies" not in str(state(store, "third").refusal)


def test_a_policy_that_grows_beyond_the_limit_keeps_its_last_generation() -> None:
    store = PolicyStore(build, room=PolicyRoom(total_bytes=100))
    live = store.replace(manifest("gold", paused=True)).profiles
    store.replace(manifest("gold", generation=2, schedulerName="x" * 200))
    assert "TooManyPolicies" in str(state(store, "gold").refusal)
    assert (state(store, "gold").profile,) == live
    store.replace(manifest("gold", generation=3))
    assert state(store, "gold").refusal is None


DEEP: dict[str, Any] = {}
for _ in range(5_000):
    DEEP = {"a": DEEP}


@pytest.mark.parametrize("args", [{"a": "x" * MAX_SPEC_BYTES}, DEEP], ids=["long", "deep"])
def test_a_policy_with_an_oversized_spec_is_refused(args: dict[str, Any]) -> None:
    store = PolicyStore(build)
    store.replace(manifest("gold", pluginConfig=[{"name": "NodeAffinity", "args": args}]))
    assert state(store, "gold").refusal == PolicyRefusal(
        "InvalidSpec",
        "spec: has more than 128 KiB as JSON, or is nested too deeply; shorten its lists and arguments, or let "
        "extenders name files with certificates",
    )


def test_an_event_or_list_with_the_same_generation_changes_nothing() -> None:
    store = PolicyStore(build)
    store.replace(manifest("gold"))
    assert store.replace(manifest("gold")) == PolicyChanges()
    assert resync(store, [manifest("gold")]) == PolicyChanges()


def test_an_event_causes_work_only_for_the_scheduler_name_of_its_policy() -> None:
    names = CountingNames()
    store = PolicyStore(build, reserved=names)
    resync(store, [manifest(f"policy-{number}") for number in range(100)])
    before = {state.name: state for state in store.states()}
    names.lookups = 0

    changes = store.replace(manifest("policy-7", generation=2))
    after = {state.name: state for state in store.states()}

    assert names.lookups == 1
    assert [state.name for state in changes.states] == ["policy-7"]
    assert [name for name in after if after[name] is not before[name]] == ["policy-7"]


def test_the_store_computes_nothing_if_states_are_read_or_an_event_changes_nothing() -> None:
    names = CountingNames()
    store = PolicyStore(build, reserved=names)
    resync(store, [manifest(f"policy-{number}") for number in range(100)])
    names.lookups = 0

    first, second = list(store.states()), list(store.states())
    store.replace(manifest("policy-7"))

    assert all(one is other for one, other in zip(first, second, strict=True))
    assert names.lookups == 0


def test_a_refused_edit_keeps_the_last_good_profile_live() -> None:
    store = PolicyStore(build)
    (good,) = store.replace(manifest("gold")).profiles
    changes = store.replace(manifest("gold", generation=2, weights={"NodePorts": 1}))
    assert (changes.profiles, changes.removed, changes.refused) == ((), (), {})
    (gold,) = changes.states
    assert gold.profile is good
    assert gold.refusal == PolicyRefusal("InvalidSpec", "weights.NodePorts: is no score")
    assert gold.observed_generation == 2


def test_a_policy_without_a_good_version_is_reported_until_it_is_corrected_or_deleted() -> None:
    store = PolicyStore(build)
    refused = store.replace(manifest("gold", weights={"Nonsense": 1}, schedulerName="shiny"))
    message = "SchedulingPolicy gold is refused: there is no plugin 'Nonsense'; `moorage plugins` lists the known ones"
    assert refused.refused == {"shiny": message}
    same = store.replace(manifest("gold", generation=2, weights={"Nonsense": 2}, schedulerName="shiny"))
    assert same.refused == {}
    again = store.replace(manifest("gold", generation=3, weights={"NodePorts": 1}, schedulerName="shiny"))
    assert again.refused == {"shiny": "SchedulingPolicy gold is refused: weights.NodePorts: is no score"}
    assert store.remove(manifest("gold")) == PolicyChanges(removed=("shiny",), deleted=("gold",))


def test_a_live_profile_is_removed_if_a_refused_policy_becomes_the_owner_of_its_name() -> None:
    store = PolicyStore(build)
    store.replace(manifest("old", age=9, schedulerName="shared"))
    store.replace(manifest("young", age=1, schedulerName="shared", weights={"NodePorts": 1}))
    changes = store.remove(manifest("old"))
    assert (changes.profiles, changes.removed, list(changes.refused)) == ((), (), ["shared"])


def test_an_unknown_plugin_and_a_wrong_field_have_different_reasons() -> None:
    store = PolicyStore(build)
    store.replace(manifest("a", weights={"Nonsense": 1}))
    store.replace(manifest("b", colour="red"))
    unknown, wrong = state(store, "a").refusal, state(store, "b").refusal
    assert unknown is not None
    assert unknown.reason == "UnknownPlugin"
    assert wrong is not None
    assert wrong.reason == "InvalidSpec"
    assert "colour" in wrong.message


def test_an_unexpected_error_leads_to_the_refusal_of_its_policy_and_of_no_other_policy(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def build_or_break(policy: SchedulingPolicy) -> Profile:
        if policy.spec.paused:
            raise TypeError("odd")
        return build(policy)

    store = PolicyStore(build_or_break)
    store.replace(manifest("gold"))
    resync(store, [manifest("gold", generation=2, paused=True), manifest("silver")])
    assert state(store, "gold").refusal == PolicyRefusal("InvalidSpec", "cannot be compiled: TypeError: odd")
    assert state(store, "gold").profile is not None
    assert state(store, "silver").refusal is None
    assert "gold" in caplog.text


def test_the_older_of_two_policies_keeps_the_name_until_it_is_deleted() -> None:
    store = PolicyStore(build)
    store.replace(manifest("young", age=1, schedulerName="shared"))
    (taken_over,) = store.replace(manifest("old", age=9, schedulerName="shared")).profiles
    assert state(store, "old").profile is taken_over
    refusal = state(store, "young").refusal
    assert refusal is not None
    assert refusal.reason == "NameConflict"
    assert "old" in refusal.message

    back = store.remove(manifest("old", age=9))
    assert [profile.name for profile in back.profiles] == ["shared"]
    assert state(store, "young").refusal is None


def test_a_name_of_the_configuration_file_is_refused() -> None:
    store = PolicyStore(build, reserved={"from-file"})
    assert store.replace(manifest("p", schedulerName="from-file")).profiles == ()
    refusal = state(store, "p").refusal
    assert refusal is not None
    assert "configuration file" in refusal.message


def test_a_resync_finds_a_deletion_that_the_watch_missed() -> None:
    store = PolicyStore(build)
    store.replace(manifest("kept"))
    store.replace(manifest("ghost"))
    assert resync(store, [manifest("kept")]).removed == ("ghost",)


def test_a_late_deletion_does_not_remove_a_newer_policy_with_the_same_name() -> None:
    store = PolicyStore(build)
    store.replace(manifest("gold", uid="first"))
    store.replace(manifest("gold", uid="second"))
    assert store.remove(manifest("gold", uid="first")).removed == ()
    assert state(store, "gold").uid == "second"


def test_the_engine_gets_no_message_about_a_name_that_no_policy_may_have() -> None:
    # The engine does not know a name without an owner. Therefore, it neither holds nor reports pods with this name.
    store = PolicyStore(build, name_refusal=lambda name: "kube-scheduler's" if name == "default-scheduler" else "")
    taking: dict[str, Any] = {"schedulerName": "default-scheduler", "allowDefaultScheduler": True}
    seen = resync(store, [manifest("a", age=2, **taking), manifest("b", **taking), manifest("default-scheduler")])

    assert (seen.profiles, seen.refused, seen.removed) == ((), {}, ())
    for name in ("a", "b", "default-scheduler"):
        assert state(store, name).refusal == PolicyRefusal("NameNotAllowed", "kube-scheduler's")
        assert not state(store, name).owns_name
    assert store.remove(manifest("a")).removed == ()


def test_a_version_that_the_flags_do_not_allow_is_refused_and_the_last_good_version_stays_live() -> None:
    def build_or_refuse(policy: SchedulingPolicy) -> Profile:
        if policy.spec.extenders:
            raise PolicyNotAllowed([Fault(("spec", "extenders", 0, "urlPrefix"), None, "needs a flag")])
        return build(policy)

    store = PolicyStore(build_or_refuse)
    store.replace(manifest("gold"))
    store.replace(manifest("gold", generation=2, extenders=[{"urlPrefix": "http://x", "filterVerb": "f"}]))
    assert state(store, "gold").refusal == PolicyRefusal("NotAllowed", "spec.extenders[0].urlPrefix: needs a flag")
    assert state(store, "gold").profile is not None
