"""A change that would let a pod fit, and the trials that verify it."""

from collections.abc import Sequence
from enum import Enum

from msgspec import Struct

from moorage.cluster.snapshot import Snapshot
from moorage.engine.cycle.filtering import run_filters
from moorage.engine.cycle.pre_filter import run_pre_filter
from moorage.engine.cycle.scheduling_cycle import nodes_to_filter
from moorage.framework.profile import Profile
from moorage.model.pods.pod import Pod
from moorage.outside_text import one_line

TEXT_CHARACTERS = 300
"""The longest text of a change. A selector of a pod may have thousands of characters."""
SHOWN_NODES = 3
"""The number of node names that a change lists."""


class ChangeKind(Enum):
    """The kinds of changes. Among equally good changes, a kind that is listed earlier ranks higher."""

    REQUEST = "request"
    TOLERATION = "toleration"
    SELECTOR = "nodeSelector"
    SPREAD = "topologySpread"
    AFFINITY = "affinity"
    POLICY = "policy"
    NODE_LABEL = "nodeLabel"
    VICTIM = "victim"
    NEW_NODE = "newNode"


class Counterfactual(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One change after which the pod fits."""

    kind: ChangeKind
    text: str
    """The change for people, such as `600m less cpu`."""
    size: float = 0.0
    """The size of the change. A smaller change is better; sizes of different kinds are not compared."""
    node_names: Sequence[str]
    """Some of the nodes on which the pod then fits, sorted."""
    node_count: int
    """The number of nodes on which the pod then fits."""
    victim_namespace: str = ""
    """The namespace of the pod that `text` names; empty if `text` names no pod."""


def fitting_nodes(profile: Profile, pod: Pod, snapshot: Snapshot) -> list[str]:
    """Return the sorted names of the nodes that pass PreFilter and Filter. If a plugin fails, return no names."""
    pre_filtered = run_pre_filter(profile, pod, snapshot)
    if not pre_filtered.status.is_success:
        return []
    filtered = run_filters(pre_filtered, nodes_to_filter(pre_filtered, snapshot))
    if pre_filtered.plan.unprepared and filtered.fault():
        return []
    names = filtered.nodes.names
    return sorted(names[position] for position in filtered.feasible.nonzero()[0].tolist())


def change_to(
    kind: ChangeKind, text: str, node_names: Sequence[str], size: float = 0.0, victim_namespace: str = ""
) -> Counterfactual:
    """Return a verified change; `node_names` are all nodes on which the pod then fits."""
    return Counterfactual(
        kind=kind,
        text=one_line(text, TEXT_CHARACTERS),
        size=size,
        node_names=tuple(node_names[:SHOWN_NODES]),
        node_count=len(node_names),
        victim_namespace=victim_namespace,
    )
