"""The record of one attempt to schedule a pod. All parts are plain values, so that the server can send it as JSON."""

from enum import Enum

from msgspec import Struct

from moorage.engine.messages import ExtenderCall

MAX_EXAMPLES = 3
"""The number of node names for each reason."""
MAX_NODES = 10
"""The number of nodes whose scores a record shows, and the number of candidates for preemption."""


class DecisionOutcome(Enum):
    """The outcome of an attempt."""

    BOUND = "Bound"
    """A node was chosen, and the binding began."""
    UNSCHEDULABLE = "Unschedulable"
    ERROR = "Error"
    HELD = "Held"
    """The pod was not tried, because its policy is paused, refused, deleted, or does not allow its namespace."""
    WAITS_FOR_EXTENDERS = "WaitsForExtenders"


class PolicyVersion(Struct, frozen=True, rename="camel", gc=False):
    """The SchedulingPolicy that decided."""

    name: str
    uid: str
    generation: int


class NodeCount(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """A number of nodes that a plugin rejects for one reason."""

    plugin: str
    reason: str
    """The reason of the plugin. If the pod found a node, only the plugin is recorded, and the reason is empty."""
    nodes: int
    examples: tuple[str, ...] = ()
    """The names of at most MAX_EXAMPLES of these nodes."""


class PluginScore(Struct, frozen=True, rename="camel", gc=False):
    """The score of one plugin for one node."""

    plugin: str
    weight: int
    raw: int
    normalized: int

    @property
    def weighted(self) -> int:
        """The normalized score times the weight."""
        return self.normalized * self.weight


class NodeScore(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """The scores of one node."""

    node: str
    total: int
    """The sum of the weighted scores and of the extenders' score."""
    plugins: tuple[PluginScore, ...]
    extenders: int = 0
    """The extenders' score, including the weights of the extenders."""


class Scores(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """The comparison of the nodes that fit."""

    nodes: tuple[NodeScore, ...]
    """At most MAX_NODES nodes with the highest totals, the chosen node first."""
    margin: int
    """The difference between the two highest totals; 0 if several nodes have the highest total."""
    ties: int
    """The number of nodes with the highest total. The seed decides between these nodes."""
    skipped: tuple[str, ...] = ()
    """The Score plugins whose PreScore returned Skip for the pod."""


class PodName(Struct, frozen=True, rename="camel", gc=False):
    """A pod that another pod may displace."""

    namespace: str
    name: str
    priority: int


class ConsideredNode(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """A node on which evictions would make the pod fit."""

    node: str
    victims: int
    highest_priority: int
    """The highest priority of the victims."""
    violations: int
    """The number of victims whose PodDisruptionBudget does not allow the eviction."""
    pods: tuple[PodName, ...] = ()
    """The victims whose names the reader may see. Inside the engine, these are all victims."""
    hidden_pods: int = 0
    """The number of victims in namespaces that the reader may not read."""


class Preemption(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """The search for pods to evict."""

    node: str = ""
    """The node to which the pod was nominated; empty if preemption gave up."""
    reason: str = ""
    """The rule that chose `node`; if preemption gave up, the reason."""
    candidates: int = 0
    """The number of nodes on which evictions would help, among the nodes that were tried."""
    considered: tuple[ConsideredNode, ...] = ()
    """At most MAX_NODES of the nodes that `candidates` counts, the best first."""
    rejected: tuple[NodeCount, ...] = ()
    """The nodes on which evictions do not help."""
    displaced: tuple[PodName, ...] = ()
    """Pods of lower priority whose nomination to `node` was cleared."""
    hidden_displaced: int = 0
    """The number of displaced pods in namespaces that the reader may not read."""


class PointDuration(Struct, frozen=True, rename="camel", gc=False):
    """How long one run of an extension point took."""

    point: str
    """The name of the extension point, such as Filter."""
    seconds: float


class DecisionRecord(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """One attempt."""

    namespace: str
    name: str
    uid: str
    scheduler_name: str
    policy: PolicyVersion | None = None
    """The policy of the profile; None if the profile is from the configuration file."""
    canary_of: str = ""
    """If a canary has taken the pod, the schedulerName of the pod's spec; otherwise empty."""
    outcome: DecisionOutcome
    node: str = ""
    """The chosen node, or the node to which the pod was nominated."""
    message: str = ""
    """kube-scheduler's message about a pod without a node, or the reason of an error or a hold."""
    attempt: int = 0
    """The number of the attempt, starting at 1; 0 if the decision was only computed for a reader."""
    at: float = 0.0
    """When the attempt ended, in seconds of the clock given to `schedule_one`."""
    seed: int = 0
    cycle: int = 0
    """The number of the cycle. Seed and cycle determine the choice between equal nodes."""
    total_nodes: int = 0
    evaluated_nodes: int = 0
    """The number of nodes that the search went through; a search may end as soon as enough nodes fit."""
    fitting_nodes: int = 0
    """The number of nodes among which the attempt chose."""
    filters: tuple[NodeCount, ...] = ()
    """The rejected nodes by plugin and reason, over all nodes of the cluster."""
    scores: Scores | None = None
    """The scores; None if at most one node fits, or if the profile has no Score plugin."""
    preemption: Preemption | None = None
    extenders: tuple[ExtenderCall, ...] = ()
    """The calls that filtered and scored nodes."""
    durations: tuple[PointDuration, ...] = ()
    """The extension points that ran in the attempt, in order. The binding follows later and is not included."""

    @property
    def key(self) -> str:
        """The `namespace/name` of the pod."""
        return f"{self.namespace}/{self.name}"
