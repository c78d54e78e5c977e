"""The outcomes of attempts to schedule a pod. The runtime carries out the outcomes.

When the engine returns an outcome, it has already updated its own state: the pod of a `Bind` is assumed, and the pod
of an `Unschedulable` or a `SchedulingFailed` is back in the queue.
"""

from collections.abc import Sequence
from enum import Enum

from msgspec import Struct

from moorage.engine.candidate import Candidate
from moorage.engine.cycle.diagnosis import Diagnosis
from moorage.framework.profile import Profile
from moorage.model.pods.pod import Pod


class Bind(Struct, frozen=True, kw_only=True):
    """The pod is assumed on a node: bind the pod, then post `BindingFinished` with it, even if the binding fails."""

    pod: Pod
    """The assumed pod: its `node_name` is the chosen node."""
    node_name: str
    profile: Profile
    intents: Sequence[object]
    """Writes that must precede the binding (`moorage.cluster.intents`)."""
    attempts: int
    """The number of attempts, including this attempt."""
    first_attempt_at: float
    """When the pod first became active, in seconds of the clock given to `schedule_one`."""
    was_flushed: bool = False
    """Whether the queue requeued the pod because it was unschedulable for too long, and not because of an event."""


class Unschedulable(Struct, frozen=True, kw_only=True):
    """The pod fits on no node: write its PodScheduled condition (reason Unschedulable) and an event."""

    pod: Pod
    profile: Profile
    message: str
    """kube-scheduler's FitError text."""
    diagnosis: Diagnosis
    nominated_node_name: str | None
    """The new value of `status.nominatedNodeName`. An empty value clears the field; None keeps the field."""
    victims: Sequence[Pod]
    """The pods to evict, so that this pod fits on the nominated node."""
    displaced: Sequence[Pod] = ()
    """Pods of lower priority that were nominated to the same node: clear their `status.nominatedNodeName`."""
    attempts: int
    unchanged: bool
    """Whether the last failed attempt had the same message."""


class SchedulingFailed(Struct, frozen=True, kw_only=True):
    """The attempt ended in an error: write the PodScheduled condition (reason SchedulerError) and an event."""

    pod: Pod
    profile: Profile
    message: str
    attempts: int
    unchanged: bool
    """Whether the last failed attempt had the same message."""


class CallExtenders(Struct, frozen=True, kw_only=True):
    """A question about nodes: ask the profile's extenders, then post `ExtendersAnswered`."""

    pod: Pod
    profile: Profile
    node_names: Sequence[str]


class AskAboutVictims(Struct, frozen=True, kw_only=True):
    """A question about candidates for preemption: ask the profile's extenders, then post `CandidatesAnswered`."""

    pod: Pod
    profile: Profile
    candidates: Sequence[Candidate]


class HoldReason(Enum):
    """The reason for holding a pod that no plugin has rejected.

    The pod's condition and event have the value as reason.
    """

    NO_PROFILE = "SchedulingPolicyNotFound"  # the policy with the pod's schedulerName is gone
    REFUSED = "SchedulingPolicyRefused"  # the pod's policy is invalid, and no valid version was ever live
    PAUSED = "SchedulingPolicyPaused"  # the policy with the pod's schedulerName is paused
    SHADOW = "SchedulingPolicyIsShadow"  # the policy with the pod's schedulerName is in mode Shadow, and binds no pods
    NAMESPACE = "NamespaceNotAllowed"  # the pod's policy does not allow the pod's namespace


class Held(Struct, frozen=True, kw_only=True):
    """The pod is not tried: write its PodScheduled condition and an event. A pod has one outcome for each reason."""

    pod: Pod
    reason: HoldReason
    message: str = ""
    """For the reasons REFUSED and NAMESPACE, the name of the policy and the explanation; otherwise empty."""


class Misnamed(Struct, frozen=True, kw_only=True):
    """No policy has ever had the pod's schedulerName, but a live policy has a similar name: write an event."""

    pod: Pod
    similar_name: str
    """The schedulerName of the live policy, which differs by one edit from the pod's schedulerName."""


class Skipped(Struct, frozen=True, kw_only=True):
    """The pod is being deleted, so it is not tried: write an event."""

    pod: Pod
    profile: Profile
    message: str
    """kube-scheduler's text."""


class ShadowVerdict(Enum):
    """The comparison of a shadow's decision with the real decision."""

    SAME = "same"  # the same node, or no node in both
    TIE = "tie"  # another node with the same score
    OTHER_NODE = "otherNode"
    FITS_NOWHERE = "fitsNowhere"  # the pod has a node, but the shadow finds none
    FITS = "fits"  # the pod has no node, but the shadow finds one
    FAILED = "failed"  # a plugin of the shadow failed


class ShadowDecision(Struct, frozen=True, kw_only=True):
    """A decision of a policy in mode Shadow: count the decision, and bind nothing."""

    pod: Pod
    profile: Profile
    """The profile of the shadow."""
    actual_node_name: str
    """The node on which the pod really is; empty if it fits on no node."""
    actual_zone: str = ""
    node_name: str = ""
    """The node that the shadow chose; empty if the pod fits on no node."""
    zone: str = ""
    verdict: ShadowVerdict = ShadowVerdict.SAME
    message: str = ""
    """Why the shadow's decision differs from the real decision; empty if they are equal."""


Outcome = (
    Bind
    | Unschedulable
    | SchedulingFailed
    | CallExtenders
    | AskAboutVictims
    | Held
    | Misnamed
    | Skipped
    | ShadowDecision
)
