"""What comes out of an attempt to schedule a pod; the runtime carries it out.

The engine has done its part when it returns one: the pod of a `Bind` is assumed, the pod of an `Unschedulable` or a
`SchedulingFailed` is back in the queue.
"""

from collections.abc import Sequence
from enum import Enum

from msgspec import Struct

from moorage.engine.candidate import Candidate
from moorage.engine.cycle.decision import Decision, Diagnosis
from moorage.framework.profile import Profile
from moorage.model.pods.pod import Pod


class Bind(Struct, frozen=True, kw_only=True):
    """Bind the pod, and post `BindingFinished` with this very pod, whatever comes of it."""

    pod: Pod
    """The assumed pod: its `node_name` is the chosen node."""
    node_name: str
    profile: Profile
    intents: Sequence[object]
    """What has to be written first (`moorage.cluster.intents`)."""
    decision: Decision
    attempts: int
    """How many attempts it took, this one included."""
    first_attempt_at: float
    """When the pod first was ready to be scheduled, in seconds of the clock that `schedule_one` is given."""


class Unschedulable(Struct, frozen=True, kw_only=True):
    """The pod fits nowhere: write its PodScheduled condition (reason Unschedulable), and an event."""

    pod: Pod
    profile: Profile
    message: str
    """kube-scheduler's words."""
    diagnosis: Diagnosis
    nominated_node_name: str | None
    """The node that `status.nominatedNodeName` shall name; empty clears it, None leaves it."""
    victims: Sequence[Pod]
    """The pods to evict so that the pod fits on the nominated node."""
    displaced: Sequence[Pod] = ()
    """Waiting pods of lower priority that were nominated to that node: clear their `status.nominatedNodeName`."""
    attempts: int
    unchanged: bool
    """Whether the last attempt ended with the same message."""


class SchedulingFailed(Struct, frozen=True, kw_only=True):
    """The attempt ended in an error: write the condition (reason SchedulerError), and an event."""

    pod: Pod
    profile: Profile
    message: str
    attempts: int
    unchanged: bool


class CallExtenders(Struct, frozen=True, kw_only=True):
    """Ask the profile's extenders about these nodes, and post `ExtendersAnswered`."""

    pod: Pod
    profile: Profile
    node_names: Sequence[str]


class AskAboutVictims(Struct, frozen=True, kw_only=True):
    """Ask the profile's extenders which of these candidates for preemption they leave; post `CandidatesAnswered`."""

    pod: Pod
    profile: Profile
    candidates: Sequence[Candidate]


class HoldReason(Enum):
    """Why a pod waits although nothing has rejected it."""

    NO_PROFILE = "NoProfile"  # the profile of its schedulerName is gone
    REFUSED = "Refused"  # the policy of its schedulerName is refused, and no older version of it is live
    PAUSED = "Paused"


class Held(Struct, frozen=True, kw_only=True):
    """The pod is held, and nobody tries it: say so by an event. Comes once for each reason that it is held for."""

    pod: Pod
    reason: HoldReason
    message: str = ""
    """Which policy is refused, and why; empty for other reasons."""


class Skipped(Struct, frozen=True, kw_only=True):
    """The pod is being deleted, so nothing is tried for it any more."""

    pod: Pod
    profile: Profile
    message: str


Outcome = Bind | Unschedulable | SchedulingFailed | CallExtenders | AskAboutVictims | Held | Skipped
