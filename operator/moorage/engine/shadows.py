"""Shadows: policies that decide for the pods of another schedulerName without binding them.

When another profile or another scheduler places a pod, each shadow of the pod's schedulerName decides for the same pod
and the same cluster, right before the pod uses resources of its node. All other pods count on the nodes where they
really run, not on the nodes that the shadow chose. A shadow evicts no pods and calls no extenders.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from moorage.engine.cache import Cache
from moorage.engine.cycle.cycle_error import CycleError
from moorage.engine.cycle.filtering import FilteredNodes, status_at
from moorage.engine.cycle.fit_error import FitError
from moorage.engine.cycle.fit_error_message import fit_error_message
from moorage.engine.cycle.scheduling_cycle import AskExtenders, CycleInput, ScheduleResult, run_cycle
from moorage.engine.outcomes import ShadowDecision, ShadowVerdict
from moorage.engine.recorder import Recorder
from moorage.framework.profile import Profile
from moorage.model.pods.pod import Pod

ZONE = "topology.kubernetes.io/zone"
MAX_SHADOWS = 20
"""The number of shadows of one schedulerName that decide. Further shadows would slow down the scheduling loop."""
MAX_UNREPORTED = 1000
"""The number of decisions that may wait to be reported. Further comparisons are skipped."""


class ShadowState(Struct, frozen=True, kw_only=True):
    """The fields of `Shadows`."""

    shadows: Sequence[Profile]
    unreported: Sequence[ShadowDecision]
    skipped: Mapping[str, int]
    cycle: int


class Shadows:
    """The shadows by the schedulerName that they follow, and their decisions that have not been reported."""

    def __init__(self, cache: Cache, seed: int, recorder: Recorder) -> None:
        """Decide with the nodes of `cache`; `recorder` limits the time that shadows take."""
        self._cache = cache
        self._seed = seed
        self._recorder = recorder
        self._by_followed: dict[str, dict[str, Profile]] = {}
        self._unreported: list[ShadowDecision] = []
        self._skipped: Counter[str] = Counter()
        self._cycle = 0

    @property
    def has_unreported(self) -> bool:
        """Whether `next_report` returns a decision."""
        return bool(self._unreported)

    @property
    def skipped(self) -> Mapping[str, int]:
        """The number of decisions that each shadow left out for lack of time."""
        return self._skipped

    def next_report(self) -> ShadowDecision | None:
        """Return the oldest decision that has not been reported."""
        return self._unreported.pop(0) if self._unreported else None

    def set_profile(self, profile: Profile) -> None:
        """Add or replace a profile. If the profile is not a shadow any more, forget it."""
        self.remove_profile(profile.name)
        if profile.settings.shadow_of:
            self._by_followed.setdefault(profile.settings.shadow_of, {})[profile.name] = profile

    def remove_profile(self, name: str) -> None:
        """Forget a profile if it is a shadow."""
        for followed, shadows in list(self._by_followed.items()):
            if shadows.pop(name, None) and not shadows:
                del self._by_followed[followed]

    def of(self, pod: Pod) -> list[Profile]:
        """Return the shadows that decide for a pod."""
        return list(islice(self._by_followed.get(pod.canary_of or pod.scheduler_name, {}).values(), MAX_SHADOWS))

    def state(self) -> ShadowState:
        """Return a copy of all fields."""
        shadows = [shadow for shadows in self._by_followed.values() for shadow in shadows.values()]
        return ShadowState(
            shadows=shadows, unreported=list(self._unreported), skipped=dict(self._skipped), cycle=self._cycle
        )

    def restore(self, state: ShadowState) -> None:
        """Set all fields to the state of an earlier object."""
        for shadow in state.shadows:
            self.set_profile(shadow)
        self._unreported, self._skipped = list(state.unreported), Counter(state.skipped)
        self._cycle = state.cycle

    def compare(self, pod: Pod, node_name: str, may_use: Callable[[Profile, Pod], bool]) -> None:
        """Let each shadow decide for a pod. `node_name` is the pod's real node; empty if the pod fits on no node.

        Call this before the pod uses resources of the node. `may_use` returns whether a profile allows the pod's
        namespace.
        """
        for shadow in self.of(pod) if self._by_followed else ():
            if not may_use(shadow, pod):
                continue
            if len(self._unreported) >= MAX_UNREPORTED or not self._recorder.may_shadow():
                self._skipped[shadow.name] += 1
                continue
            started = self._recorder.now()
            self._unreported.append(self._decide(shadow, pod, node_name))
            self._recorder.observe_shadow(started)

    def _decide(self, shadow: Profile, pod: Pod, node_name: str) -> ShadowDecision:
        zone = self._zone(node_name)
        decision = ShadowDecision(pod=pod, profile=shadow, actual_node_name=node_name, actual_zone=zone)
        result = self._run(shadow, pod)
        if isinstance(result, CycleError):
            return replace(decision, verdict=ShadowVerdict.FAILED, message=str(result))
        if isinstance(result, FitError):
            verdict = ShadowVerdict.FITS_NOWHERE if node_name else ShadowVerdict.SAME
            return replace(decision, verdict=verdict, message=fit_error_message(result.diagnose()))
        verdict, message = compared(result, node_name)
        zone = self._zone(result.node_name)
        return replace(decision, verdict=verdict, message=message, node_name=result.node_name, zone=zone)

    def _run(self, shadow: Profile, pod: Pod) -> ScheduleResult | FitError | CycleError:
        self._cycle += 1
        waiting = replace(pod, node_name="", required_node_name="", nominated_node_name="")
        cycle = CycleInput(
            profile=shadow, pod=waiting, snapshot=self._cache.snapshot, seed=self._seed, cycle=self._cycle
        )
        try:
            result = run_cycle(cycle)
        except CycleError as error:
            return error
        except Exception as fault:  # noqa: BLE001 - a shadow must not disturb the real decision
            return CycleError(f"{type(fault).__name__}: {fault}")
        assert not isinstance(result, AskExtenders), "a shadow asks no extenders"
        return result

    def _zone(self, node_name: str) -> str:
        position = self._cache.snapshot.position(node_name)
        return "" if position is None else self._cache.snapshot.node(position).labels.get(ZONE, "")


def compared(result: ScheduleResult, node_name: str) -> tuple[ShadowVerdict, str]:
    """Compare a shadow's node with the real node. Return the verdict, and why the nodes differ."""
    if not node_name:
        return ShadowVerdict.FITS, ""
    if node_name == result.node_name:
        return ShadowVerdict.SAME, ""
    position = result.table.nodes.position(node_name) if result.table else None
    if result.table is None or position is None:
        return ShadowVerdict.OTHER_NODE, _rejection(result.filtered, node_name)
    totals = result.table.total
    mine, theirs = int(totals[result.chosen]), int(totals[position])
    if mine == theirs:
        return ShadowVerdict.TIE, f"both nodes have the score {mine}"
    return ShadowVerdict.OTHER_NODE, f"{result.node_name} has the score {mine}, {node_name} has {theirs}"


def _rejection(filtered: FilteredNodes, node_name: str) -> str:
    """Return why the shadow does not consider a node."""
    position = filtered.nodes.position(node_name)
    if position is not None:
        for rejected in filtered.rejections():
            if rejected.nodes[position]:
                status = status_at(rejected.plugin, rejected.reasons, position)
                return f"{rejected.plugin} rejects {node_name}: {status.message}"
    return f"the search ended before it reached {node_name}"


def became_unschedulable(old: Pod | None, new: Pod) -> bool:
    """Return whether another scheduler has just reported that a pod fits on no node."""
    condition = new.scheduled_condition
    is_rejected = condition is not None and condition[:2] == ("False", "Unschedulable")
    return is_rejected and (old is None or old.scheduled_condition != condition)
