"""What the scheduler is told besides the cluster's events: profiles, finished bindings, extenders' answers."""

from collections.abc import Mapping

from msgspec import Struct, field

from moorage.engine.candidate import Candidate
from moorage.framework.cluster_events import ClusterEvent
from moorage.framework.profile import Profile
from moorage.model.pods.pod import Pod


class ProfileChanged(Struct, frozen=True):
    """A profile is new, or replaces the live one of its name; its waiting pods are tried again at once."""

    profile: Profile


class ProfileRemoved(Struct, frozen=True):
    """Nobody schedules the pods of this name any more; they wait."""

    scheduler_name: str


class ProfileRefused(Struct, frozen=True):
    """A policy has this schedulerName, but none that could ever be live; the name's pods wait."""

    scheduler_name: str
    message: str
    """Which policy is refused, and why."""


class BindingFinished(Struct, frozen=True):
    """A binder task has come to its end."""

    pod: Pod
    """The assumed pod of the `Bind` outcome."""
    node_name: str
    error: str | None = None
    """Why the pod is not bound; None: it is."""


class ExtendersAnswered(Struct, frozen=True, kw_only=True):
    """All extenders of a pod's profile have been asked."""

    pod_uid: str
    node_names: frozenset[str] = frozenset()
    """The nodes that they kept."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """Nodes that they turned down, with their reasons; preemption may help."""
    unresolvable: Mapping[str, str] = field(default_factory=dict)
    """The same where preemption cannot help."""
    scores: Mapping[str, int] = field(default_factory=dict)
    """What they add to the nodes' totals, weights included."""
    error: str | None = None
    """Why the attempt fails; None: the answer counts."""


class CandidatesAnswered(Struct, frozen=True, kw_only=True):
    """The extenders that have a say in preemption have been asked."""

    pod_uid: str
    candidates: tuple[Candidate, ...] = ()
    """What they leave of the candidates, with the victims that they want."""
    error: str | None = None
    """Why the attempt fails; None: the answer counts."""


class TryAgain(Struct, frozen=True):
    """A pod that waits for an event, such as its victims' end, that will not come: try it after its backoff."""

    pod_uid: str
    void_nomination: str = ""
    """The node where no room could be made after all: a nomination to it is taken back, so that others may go there."""


Message = (
    ClusterEvent
    | ProfileChanged
    | ProfileRemoved
    | ProfileRefused
    | BindingFinished
    | ExtendersAnswered
    | CandidatesAnswered
    | TryAgain
)
