"""The messages to the scheduler besides cluster events, such as new profiles and finished bindings."""

from collections.abc import Mapping

from msgspec import Struct, field

from moorage.engine.candidate import Candidate
from moorage.framework.cluster_events import ClusterEvent
from moorage.framework.profile import Profile
from moorage.model.pods.pod import Pod


class ProfileChanged(Struct, frozen=True):
    """A profile is new, or replaces the live profile with the same name. Its pods are tried again at once."""

    profile: Profile


class ProfileRemoved(Struct, frozen=True):
    """A profile is gone; the pods of its schedulerName are held."""

    scheduler_name: str


class ProfileRefused(Struct, frozen=True):
    """A policy with this schedulerName is invalid, and no valid version of it was ever live; its pods are held."""

    scheduler_name: str
    message: str
    """The name of the refused policy, and the reason for the refusal."""


class BindingFinished(Struct, frozen=True):
    """The binding of a pod has ended."""

    pod: Pod
    """The assumed pod of the `Bind` outcome."""
    node_name: str
    error: str | None = None
    """The error of a failed binding; None if the pod is bound."""


class ExtenderCall(Struct, frozen=True):
    """One call of an extender, for the record of the decision."""

    extender: str
    """The extender's urlPrefix without a user."""
    verb: str
    seconds: float
    answer: str
    """A summary, such as `keeps 3 of 12 nodes`, or the error."""


class ExtendersAnswered(Struct, frozen=True, kw_only=True):
    """The answer of all extenders of a pod's profile about nodes."""

    pod_uid: str
    node_names: frozenset[str] = frozenset()
    """The nodes that every extender keeps."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """The rejected nodes on which preemption may help, each with the reason."""
    unresolvable: Mapping[str, str] = field(default_factory=dict)
    """The rejected nodes on which preemption cannot help, each with the reason."""
    scores: Mapping[str, int] = field(default_factory=dict)
    """For each node, the score to add to the node's total. The score includes the extenders' weights."""
    error: str | None = None
    """The error that fails the attempt; None if the answer is valid."""
    calls: tuple[ExtenderCall, ...] = ()


class CandidatesAnswered(Struct, frozen=True, kw_only=True):
    """The answer of a profile's extenders with a preemptVerb about candidates for preemption."""

    pod_uid: str
    candidates: tuple[Candidate, ...] = ()
    """The candidates that every extender keeps, with the victims that the extenders chose."""
    error: str | None = None
    """The error that fails the attempt; None if the answer is valid."""


class TryAgain(Struct, frozen=True):
    """The event that an unschedulable pod waits for, such as a victim's deletion, will not come: requeue the pod."""

    pod_uid: str
    void_nomination: str = ""
    """The node on which preemption could not make room. If the pod is nominated to this node, the nomination is
    cleared, so that other pods may use the room."""


class LeadershipStarted(Struct, frozen=True):
    """This replica leads from now on: report the held pods again, because earlier reports may be lost."""


class NodeRefused(Struct, frozen=True):
    """The kubelet of a node refused a pod that was bound to the node, because the node lacks room (OutOfcpu, ...)."""

    pod: Pod
    node_name: str
    profile: Profile


class KindUnreadable(Struct, frozen=True):
    """The objects of a kind cannot be read now, so the scheduler's copies of these objects may be old or missing."""

    kind: str
    error: str
    """The error and the next step, as a sentence for users."""
    is_refused: bool
    """Whether the API server refuses to list the kind. If False, the connection or the API server has failed."""


class KindReadable(Struct, frozen=True):
    """The objects of a kind can be read again, or the API server does not serve the kind."""

    kind: str


Message = (
    ClusterEvent
    | ProfileChanged
    | ProfileRemoved
    | ProfileRefused
    | BindingFinished
    | ExtendersAnswered
    | CandidatesAnswered
    | TryAgain
    | LeadershipStarted
    | NodeRefused
    | KindUnreadable
    | KindReadable
)
"""All messages that `Scheduler.apply` accepts."""
