"""The extension points, in the order in which a scheduling cycle runs them.

A plugin is one frozen pydantic class in one file. The fields of the class are the plugin's arguments (as in
`pluginConfig`). The class derives from a base class below for each extension point that it implements. The methods
receive a pod and a snapshot, and return values. They do no I/O and never change their arguments. Only `Snapshot.memo`
may keep values between cycles.

    PreEnqueue -> (queue) -> PreFilter -> Filter -> PostFilter            (no node fits)
                                                 -> PreScore -> Score -> NormalizeScore -> Reserve -> (PreBind, Bind)

PreFilter and PreScore return a state of any type. The framework passes the state to the plugin's later extension points
in the same cycle. The runtime carries out PreBind and Bind after the cycle.
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
"""The highest normalized score; the lowest is 0 (upstream `framework.MaxNodeScore`)."""


class Plugin(BaseModel):  # noqa: PLW1641 - the hash is set where pydantic cannot replace it
    """The base of all plugins; the name of the class is the name of the plugin.

    Plugins compare and hash by identity, so that `Snapshot.memo` can use a plugin as a key. A plugin that depends on
    feature gates finds the names of the enabled gates in its validation context, under `feature_gates`.
    """

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
    )

    default_weight: ClassVar[int] = 1
    """The weight of the plugin's score if no configuration sets one."""

    interests: ClassVar[frozenset[str]] = frozenset()
    """Kinds of objects (`Pod`, `Node`, ...). Changes of these objects may end a rejection by this plugin."""

    ignored_resources_argument: ClassVar[str] = ""
    """The argument that lists resources to ignore, because extenders count them (upstream `buildExtenders`). Empty if
    the plugin has no such argument."""

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same object."""
        return self is other

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Restore the fast hash by identity, which pydantic has replaced by a hash over the fields."""
        super().__pydantic_init_subclass__(**kwargs)
        cls.__hash__ = object.__hash__  # type: ignore[method-assign]

    @property
    def name(self) -> str:
        """The plugin's name in configurations, messages and metrics."""
        return type(self).__name__

    def queueing_hint(self, pod: Pod, event: ClusterEvent) -> bool:
        """Return whether `event`, of a kind in `interests`, may make the rejected `pod` schedulable."""
        del pod, event
        return True

    def pod_warnings(self, pod: Pod) -> Sequence[str]:
        """Return a sentence for each value of the pod that the plugin ignores. The runtime posts each as an event."""
        del pod
        return ()


class PreEnqueuePlugin(Plugin, ABC):
    """A plugin that can keep a pod out of the active queue."""

    @abstractmethod
    def pre_enqueue(self, pod: Pod) -> Status:
        """Return SUCCESS to admit the pod to the active queue, or a rejection with the reason."""


class QueueSortPlugin(Plugin, ABC):
    """A plugin that orders the active queue. Each profile has exactly one; all profiles have the same."""

    @abstractmethod
    def sort_key(self, pod: Pod, queued_at: float) -> tuple[float, ...]:
        """Return a sort key; the smallest key comes first. `queued_at` is when the pod last entered the queue."""


class PreFilterResult(Struct, Generic[S], frozen=True):
    """The result of PreFilter: a status, the state for later points, and the nodes to filter (None means all)."""

    status: Status = SUCCESS
    state: S | None = None
    node_names: frozenset[str] | None = None


class PreFilterPlugin(Plugin, ABC, Generic[S]):
    """A plugin that reads the pod and the whole cluster once, before Filter."""

    def skips_filter(self, shape: PodShape) -> bool:
        """Return whether `pre_filter` would return SKIP for all pods of the shape. Then `pre_filter` is not called."""
        del shape
        return False

    @abstractmethod
    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult[S]:
        """Prepare the cycle. If the status is SKIP, this plugin's Filter does not run; a rejection ends the cycle."""

    def add_pod(self, state: S, pod: Pod, other: Pod, nodes: Snapshot) -> S:
        """Return the state as if `other` also ran on the one node of `nodes` (a what-if view)."""
        del pod, other, nodes
        return state

    def remove_pod(self, state: S, pod: Pod, other: Pod, nodes: Snapshot) -> S:
        """Return the state as if `other` no longer ran on the one node of `nodes` (a what-if view)."""
        del pod, other, nodes
        return state


class Rejection(Struct, frozen=True):
    """A reason, and the nodes that a plugin rejects for this reason. A plugin may reject a node for several reasons.

    If one of a node's rejections has the code UNSCHEDULABLE_AND_UNRESOLVABLE, the node's status has this code.
    """

    nodes: BoolArray
    reason: str
    code: Code = Code.UNSCHEDULABLE
    cause: str = ""
    """The field of the policy that causes the rejection; empty if no field does. The policy's status shows the field,
    but the pod's message does not. For NodeAffinity, the cause is the requirement that the nodes do not meet."""


class FilterResult(Struct, frozen=True):
    """A Filter's result for all nodes of the view.

    `rejections` is a function, because the engine needs the reasons only if the pod fits on no node.
    """

    passed: BoolArray
    rejections: Callable[[], Sequence[Rejection]]


class FilterPlugin(Plugin, ABC, Generic[S]):
    """A plugin that rejects nodes that cannot run the pod."""

    without_pre_filter: ClassVar[str] = ""
    """Upstream's error message of Filter if the profile disables this plugin's PreFilter. Empty if Filter works without
    PreFilter."""

    has_static_filter: ClassVar[bool] = False
    """Whether `filter` depends only on the pod's shape and the nodes, and not on placed pods. If True, the engine keeps
    the result for all pods of the shape."""

    @abstractmethod
    def filter(self, state: S, pod: Pod, nodes: Snapshot) -> FilterResult:
        """Filter all nodes of the view. `state` comes from this plugin's PreFilter; None if it has no PreFilter."""


class PostFilterPlugin(Plugin, ABC):
    """A plugin that runs if no node fits.

    If another plugin's rejection ended the cycle before this plugin's PreFilter, the plugin has no state. Then
    `post_filter` is not called, and PostFilter fails with upstream's message `not found`.
    """

    def post_filter(self, state: Any, pod: Pod) -> Status:
        """Return the status to report; `state` comes from this plugin's PreFilter."""
        del state, pod
        return unschedulable()


class PreemptionPlugin(PostFilterPlugin, ABC):
    """A plugin that enables preemption. The engine searches for the victims (`moorage.engine.preemption`)."""

    @abstractmethod
    def candidate_count(self, potential: int) -> int:
        """Return the number of nodes to try; `potential` is the number of nodes on which evictions could help."""

    def post_filter(self, state: Any, pod: Pod) -> Status:
        """Return SUCCESS; the engine runs the search instead."""
        del state, pod
        return SUCCESS


class PreScoreResult(Struct, Generic[S], frozen=True):
    """The result of PreScore. If the status is SKIP, the plugin's Score does not run; an error ends the cycle."""

    status: Status = SUCCESS
    state: S | None = None


class ScorePlugin(Plugin, ABC, Generic[S]):
    """A plugin that ranks the nodes that fit."""

    without_pre_score: ClassVar[str] = ""
    """Upstream's error message of Score if the profile disables this plugin's PreScore (or PreFilter, if the plugin has
    no PreScore). Empty if Score works without them."""

    has_static_score: ClassVar[bool] = False
    """Whether `score` depends only on the pod's shape, the nodes and their images, and not on placed pods. If True, the
    engine keeps the scores for all pods of the shape, and passes no state. If all nodes have the same score, the result
    of `normalize` must depend only on this score."""

    has_local_score: ClassVar[bool] = False
    """Like `has_static_score`, but the score of a node may also depend on the pods of this node. If True, the engine
    scores again only the nodes whose pods have changed. Such a plugin has no `normalize` and no state. Its PreScore
    only decides whether to skip the plugin (`skips_score`)."""

    reads_request_mix: ClassVar[bool] = False
    """Whether the plugin reads `Snapshot.request_mix`. Without such a plugin, the engine does not count requests."""

    def skips_score(self, shape: PodShape) -> bool:
        """Return whether `pre_score` would return SKIP for all pods of the shape. Then `pre_score` is not called."""
        del shape
        return False

    def pre_score(self, pod: Pod, nodes: Snapshot) -> PreScoreResult[S]:
        """Prepare Score. `nodes` are the nodes that fit; `nodes.cluster` is the whole cluster."""
        del pod, nodes
        return PreScoreResult()

    @abstractmethod
    def score(self, state: S, pod: Pod, nodes: Snapshot) -> IntArray:
        """Return a raw score for each node of the view, as int64."""

    def normalize(self, state: S, pod: Pod, nodes: Snapshot, scores: IntArray) -> IntArray:
        """Scale raw scores to 0..MAX_NODE_SCORE. By default, return the raw scores unchanged."""
        del state, pod, nodes
        return scores


class ReservePlugin(Plugin, ABC):
    """A plugin that lists the writes that PreBind makes, for the chosen node, before the pod is bound."""

    @property
    def pre_bind_timeout_seconds(self) -> int | None:
        """The longest time that PreBind may take for this plugin, in seconds; None if the plugin sets no limit."""
        return None

    @abstractmethod
    def reserve(self, state: Any, pod: Pod, nodes: Snapshot) -> Sequence[object]:
        """Return the intents (`moorage.cluster.intents`) for the one node of the view; PreBind carries them out."""


class BindPlugin(Plugin, ABC):
    """A plugin that enables binding. The runtime writes the binding after the cycle."""
