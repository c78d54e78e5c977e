"""The extension points, in the order in which a scheduling cycle runs them.

A plugin is one frozen pydantic class in one file: its fields are its arguments (as in `pluginConfig`), its methods are
the extension points that it implements. A plugin implements a point by deriving from its class below. It is given a
pod and a snapshot, and it answers with values: it performs no I/O, keeps nothing between cycles (but see
`Snapshot.memo`) and never changes what it is given.

    PreEnqueue -> (queue) -> PreFilter -> Filter -> PostFilter            (nothing fits)
                                                 -> PreScore -> Score -> NormalizeScore -> Reserve -> (Bind, outside)

What a plugin learns in PreFilter or PreScore it returns as its state, of whatever type it likes; the framework hands
it back to the later points of the same cycle.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from msgspec import Struct
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from moorage.framework.status import SUCCESS, Code, Status, unschedulable

if TYPE_CHECKING:
    from moorage.cluster.arrays import BoolArray, IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.framework.cluster_events import ClusterEvent
    from moorage.model.pods.pod import Pod, PodShape

S = TypeVar("S")

MAX_NODE_SCORE = 100
"""Every plugin's normalised score lies in 0..MAX_NODE_SCORE (upstream `framework.MaxNodeScore`)."""


class Plugin(BaseModel):  # noqa: PLW1641 - the hash is set where pydantic cannot replace it
    """The base of all plugins; the class's name is the plugin's name.

    Plugins compare and hash by identity, so that a live plugin can key what was computed for it. A plugin that heeds
    feature gates finds the names of those that are on in its validation context, as `feature_gates`.
    """

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
    )

    default_weight: ClassVar[int] = 1
    """The weight of the Score point where no configuration says otherwise."""

    interests: ClassVar[frozenset[str]] = frozenset()
    """Kinds of objects (`Pod`, `Node`, ...) whose changes may make a pod that this plugin rejected schedulable."""

    def __eq__(self, other: object) -> bool:
        """Two plugins are equal only if they are one."""
        return self is other

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Hash by identity, as fast as plain objects do; pydantic has just put in a hash over the fields."""
        super().__pydantic_init_subclass__(**kwargs)
        cls.__hash__ = object.__hash__  # type: ignore[method-assign]

    @property
    def name(self) -> str:
        """The plugin's name in configurations, messages and metrics."""
        return type(self).__name__

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Whether an event of one of the interests may make `pod`, which this plugin rejected, schedulable."""
        del pod, event
        return True

    def pod_warnings(self, pod: Pod) -> Sequence[str]:
        """Say what in the pod was not understood and is passed over: sentences for an event on the pod."""
        del pod
        return ()


class PreEnqueuePlugin(Plugin, ABC):
    """May hold a pod back before it enters the active queue."""

    @abstractmethod
    def pre_enqueue(self, pod: Pod) -> Status:
        """Admit the pod to the active queue, or say what it waits for."""


class QueueSortPlugin(Plugin, ABC):
    """Orders the active queue; a profile has exactly one, and all profiles the same."""

    @abstractmethod
    def sort_key(self, pod: Pod, queued_at: float) -> tuple[float, ...]:
        """Return a key, smallest first; `queued_at` is when the pod last entered the queue, in seconds."""


class PreFilterResult(Struct, Generic[S], frozen=True):
    """What a PreFilter found: a status, its state for later, and the only nodes worth a look (None: all)."""

    status: Status = SUCCESS
    state: S | None = None
    node_names: frozenset[str] | None = None


class PreFilterPlugin(Plugin, ABC, Generic[S]):
    """Looks at the pod and the whole cluster once, before any node is judged."""

    def skips_filter(self, shape: PodShape) -> bool:
        """Whether `pre_filter` answers SKIP to all pods of the shape, whatever the cluster is; it is not asked then."""
        del shape
        return False

    @abstractmethod
    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[S]:
        """Prepare the cycle; SKIP leaves this plugin's Filter out, a rejection ends the cycle."""

    def add_pod(self, state: S, pod: Pod, other: Pod, nodes: Snapshot) -> S:
        """Return the state as if `other` ran on the one node of `nodes` (a what-if view) as well."""
        del pod, other, nodes
        return state

    def remove_pod(self, state: S, pod: Pod, other: Pod, nodes: Snapshot) -> S:
        """Return the state as if `other` no longer ran on the one node of `nodes` (a what-if view)."""
        del pod, other, nodes
        return state


class Rejection(Struct, frozen=True):
    """One reason and the nodes that it holds for; a node may appear in several rejections of a plugin.

    `code` counts for these nodes; where rejections of one node differ, UNSCHEDULABLE_AND_UNRESOLVABLE wins.
    """

    nodes: BoolArray
    reason: str
    code: Code = Code.UNSCHEDULABLE


class FilterResult(Struct, frozen=True):
    """A Filter's answer for all nodes of the view.

    `passed` is computed at once; the rejections, which only a pod that fits nowhere asks for, when they are asked for.
    """

    passed: BoolArray
    rejections: Callable[[], Sequence[Rejection]]


class FilterPlugin(Plugin, ABC, Generic[S]):
    """Says which nodes cannot run the pod."""

    without_pre_filter: ClassVar[str] = ""
    """What Filter fails with, in upstream's words, where this plugin's PreFilter is disabled; empty: it works."""

    has_static_filter: ClassVar[bool] = False
    """Whether verdicts follow from shape and nodes alone, whatever runs there: then one is kept a shape."""

    @abstractmethod
    def filter(self, state: S, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Judge every node of the view; `state` is what this plugin's PreFilter returned (None without one)."""


class PostFilterPlugin(Plugin, ABC):
    """Asked, when no node fits, what could be done about it.

    One that is a PreFilter too, and whose PreFilter an earlier rejection left out, is not asked: the attempt to make
    room then fails with `not found`, as upstream's does for want of the plugin's state.
    """

    def post_filter(self, state: Any, pod: Pod) -> Status:
        """Say what was found; `state` is what this plugin's PreFilter returned."""
        del state, pod
        return unschedulable()


class PreemptionPlugin(PostFilterPlugin, ABC):
    """Makes room by evicting pods; the search itself is the engine's (`moorage.engine.preemption.victim_search`)."""

    @abstractmethod
    def candidate_count(self, potential: int) -> int:
        """How many of the `potential` nodes, on which evictions could help, are tried at most."""

    def post_filter(self, state: Any, pod: Pod) -> Status:
        """Leave the search to the engine."""
        del state, pod
        return SUCCESS


class PreScoreResult(Struct, Generic[S], frozen=True):
    """What a PreScore found: SKIP leaves the plugin's Score out, an error ends the cycle."""

    status: Status = SUCCESS
    state: S | None = None


class ScorePlugin(Plugin, ABC, Generic[S]):
    """Ranks the nodes that fit."""

    without_pre_score: ClassVar[str] = ""
    """What Score fails with, in upstream's words, where its PreScore (without one: its PreFilter) is disabled."""

    has_static_score: ClassVar[bool] = False
    """Whether `score` follows from the pod's shape, the nodes themselves and their images, whatever runs there: it is
    kept for the shape, without any state. Scores that are all the same must be normalised by nothing but themselves."""

    has_local_score: ClassVar[bool] = False
    """The same, but that it may also follow from the pods on each node: only nodes whose pods changed are scored again.
    Such a plugin does not normalise, has no state, and its PreScore does nothing but skip (`skips_score`)."""

    def skips_score(self, shape: PodShape) -> bool:
        """Whether `pre_score` answers SKIP to all pods of the shape, whatever the nodes are; it is not asked then."""
        del shape
        return False

    def pre_score(self, pod: Pod, nodes: Snapshot) -> PreScoreResult[S]:
        """Look at all nodes that fit, once, before they are scored. `nodes.cluster` is the whole snapshot."""
        del pod, nodes
        return PreScoreResult()

    @abstractmethod
    def score(self, state: S, pod: Pod, nodes: Snapshot) -> IntArray:
        """Return a raw score for every node of the view, int64."""

    def normalize(self, state: S, pod: Pod, nodes: Snapshot, scores: IntArray) -> IntArray:
        """Bring raw scores into 0..MAX_NODE_SCORE; the default takes them as they are."""
        del state, pod, nodes
        return scores


class BindPlugin(Plugin, ABC):
    """Marks a plugin of the Bind point; the write itself is the runtime's, after the cycle."""


class ReservePlugin(Plugin, ABC):
    """Decides, once a node is chosen, what has to be written besides the binding."""

    @abstractmethod
    def reserve(self, state: Any, pod: Pod, nodes: Snapshot) -> Sequence[object]:
        """Return the intents (`moorage.cluster.intents`) for the one node of the view; PreBind carries them out."""
