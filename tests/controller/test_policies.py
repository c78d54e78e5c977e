"""The policy store: who is live, and what is said of the others."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.v1alpha1 import SchedulingPolicy
from moorage.controller.policies import Changes, PolicyState, PolicyStore
from moorage.errors import ConfigurationError, Fault, UnknownPlugin
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


def build(policy: SchedulingPolicy) -> Profile:
    if "Nonsense" in policy.spec.weights:
        raise UnknownPlugin("Nonsense")
    if "NodePorts" in policy.spec.weights:
        raise ConfigurationError([Fault(("weights", "NodePorts"), None, "is no score")])
    return Profile(name=policy.scheduler_name, queue_sort=PrioritySort())


def verdict(store: PolicyStore, name: str) -> PolicyState:
    (found,) = [verdict for verdict in store.verdicts() if verdict.name == name]
    return found


def test_a_policy_is_live_once_it_is_seen_and_gone_once_it_is_deleted() -> None:
    store = PolicyStore(build)
    seen = store.replace(manifest("gold"))
    assert [profile.name for profile in seen.changed] == ["gold"]
    assert verdict(store, "gold").refusal is None
    assert store.remove(manifest("gold")).removed == ("gold",)
    assert store.verdicts() == []


def test_seeing_the_same_generation_again_changes_nothing() -> None:
    store = PolicyStore(build)
    store.replace(manifest("gold"))
    assert store.replace(manifest("gold")).changed == ()


def test_a_refused_edit_keeps_the_last_good_profile_live() -> None:
    store = PolicyStore(build)
    (good,) = store.replace(manifest("gold")).changed
    changes = store.replace(manifest("gold", generation=2, weights={"NodePorts": 1}))
    assert changes == Changes()
    said = verdict(store, "gold")
    assert said.profile is good
    assert said.refusal is not None
    assert (said.refusal.reason, said.refusal.message) == ("InvalidSpec", "weights.NodePorts: is no score")
    assert said.observed_generation == 2


def test_a_policy_refused_from_the_start_is_told_with_its_reason_until_it_is_mended_or_deleted() -> None:
    store = PolicyStore(build)
    refused = store.replace(manifest("gold", weights={"Nonsense": 1}, schedulerName="shiny"))
    words = "SchedulingPolicy gold is refused: there is no plugin 'Nonsense'; `moorage plugins` lists the known ones"
    assert refused == Changes(refused={"shiny": words})
    assert store.replace(manifest("gold", generation=2, weights={"Nonsense": 2}, schedulerName="shiny")) == Changes()
    again = store.replace(manifest("gold", generation=3, weights={"NodePorts": 1}, schedulerName="shiny"))
    assert again.refused == {"shiny": "SchedulingPolicy gold is refused: weights.NodePorts: is no score"}
    assert store.remove(manifest("gold")) == Changes(removed=("shiny",))


def test_a_refused_policy_that_takes_a_name_over_ends_what_was_live_for_it() -> None:
    store = PolicyStore(build)
    store.replace(manifest("old", age=9, schedulerName="shared"))
    store.replace(manifest("young", age=1, schedulerName="shared", weights={"NodePorts": 1}))
    changes = store.remove(manifest("old"))
    assert (changes.changed, changes.removed, list(changes.refused)) == ((), (), ["shared"])


def test_an_unknown_plugin_and_a_wrong_field_have_reasons_of_their_own() -> None:
    store = PolicyStore(build)
    store.replace(manifest("a", weights={"Nonsense": 1}))
    store.replace(manifest("b", colour="red"))
    refusals = {said.name: said.refusal for said in store.verdicts()}
    assert refusals["a"] is not None
    assert refusals["a"].reason == "UnknownPlugin"
    assert refusals["b"] is not None
    assert refusals["b"].reason == "InvalidSpec"
    assert "colour" in refusals["b"].message


def test_what_nobody_foresaw_in_one_policy_is_said_of_it_and_costs_no_other(caplog: pytest.LogCaptureFixture) -> None:
    def build_or_break(policy: SchedulingPolicy) -> Profile:
        if policy.spec.paused:
            raise TypeError("odd")
        return build(policy)

    store = PolicyStore(build_or_break)
    store.replace(manifest("gold"))
    store.resync([manifest("gold", generation=2, paused=True), manifest("silver")])
    refusal = verdict(store, "gold").refusal
    assert refusal is not None
    assert (refusal.reason, refusal.message) == ("InvalidSpec", "it cannot be compiled: TypeError: odd")
    assert verdict(store, "gold").profile is not None
    assert verdict(store, "silver").refusal is None
    assert "gold" in caplog.text


def test_the_older_of_two_policies_keeps_the_name_until_it_is_deleted() -> None:
    store = PolicyStore(build)
    store.replace(manifest("young", age=1, schedulerName="shared"))
    (taken_over,) = store.replace(manifest("old", age=9, schedulerName="shared")).changed
    assert verdict(store, "old").profile is taken_over
    refusal = verdict(store, "young").refusal
    assert refusal is not None
    assert refusal.reason == "NameConflict"
    assert "old" in refusal.message

    back = store.remove(manifest("old", age=9))
    assert [profile.name for profile in back.changed] == ["shared"]
    assert verdict(store, "young").refusal is None


def test_a_name_of_the_configuration_file_is_refused() -> None:
    store = PolicyStore(build, reserved={"from-file"})
    assert store.replace(manifest("p", schedulerName="from-file")).changed == ()
    refusal = verdict(store, "p").refusal
    assert refusal is not None
    assert "configuration file" in refusal.message


def test_a_deletion_that_nobody_watched_is_found_by_the_resync() -> None:
    store = PolicyStore(build)
    store.replace(manifest("kept"))
    store.replace(manifest("ghost"))
    assert store.resync([manifest("kept")]).removed == ("ghost",)


def test_a_late_deletion_does_not_take_out_the_policy_created_since() -> None:
    store = PolicyStore(build)
    store.replace(manifest("gold", uid="first"))
    store.replace(manifest("gold", uid="second"))
    assert store.remove(manifest("gold", uid="first")).removed == ()
    assert verdict(store, "gold").uid == "second"
