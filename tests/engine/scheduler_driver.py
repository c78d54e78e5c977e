"""Helpers that drive a scheduler as the runtime does."""

from typing import Any

from engine.doubles import SCHEDULER
from moorage.engine.messages import BindingFinished
from moorage.engine.outcomes import Bind, Outcome
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import added
from moorage.framework.profile import Profile, ProfileSettings, ProfileSpec
from moorage.framework.registry import Registry
from moorage.model.node import Node
from moorage.model.pods.pod import Pod

REGISTRY = Registry.discover()


def kube_profile(name: str = SCHEDULER, **changes: Any) -> Profile:
    return REGISTRY.build_profile(ProfileSpec(scheduler_name=name, settings=ProfileSettings(**changes)))


def scheduler_of(*objects: Node | Pod, profiles: tuple[Profile, ...] = (), seed: int = 1) -> Scheduler:
    scheduler = Scheduler(seed, profiles or (kube_profile(),))
    add_objects(scheduler, *objects)
    return scheduler


def add_objects(scheduler: Scheduler, *objects: Node | Pod, now: float = 0.0) -> None:
    for each in objects:
        scheduler.apply(added(type(each).__name__, each), now)


def run_until_idle(scheduler: Scheduler, now: float = 0.0) -> list[Outcome]:
    """Schedule until no pod is ready; return all outcomes."""
    outcomes: list[Outcome] = []
    while (outcome := scheduler.schedule_one(now)) is not None:
        outcomes.append(outcome)
        assert len(outcomes) < 1000, "the scheduler never becomes idle"
    return outcomes


def next_outcome(scheduler: Scheduler, kind: type[Any], now: float = 0.0) -> Any:
    outcome = scheduler.schedule_one(now)
    assert isinstance(outcome, kind), outcome
    return outcome


def finish_binding(scheduler: Scheduler, bind: Bind, error: str | None = None, now: float = 0.0) -> None:
    scheduler.apply(BindingFinished(bind.pod, bind.node_name, error), now)
