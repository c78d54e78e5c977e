"""The last check of a node before a pod is bound to it: another scheduler may have filled the node since the decision.

A pod may wait minutes for its volumes. kube-scheduler then binds the pod without another check. If the room is gone,
the kubelet refuses the pod (OutOfcpu).
"""

from moorage.cluster.snapshot import Snapshot
from moorage.cluster.tolerations import untolerated
from moorage.cluster.what_if import NodeWhatIf
from moorage.engine.cycle.filtering import status_at
from moorage.framework.extension_points import PreFilterPlugin
from moorage.framework.profile import Profile
from moorage.framework.status import Code
from moorage.model.pods.pod import Pod

CHECKED_PLUGINS = frozenset({"NodeResourcesFit", "NodePorts", "TaintToleration"})
"""The plugins that read resources, ports and taints, which other schedulers and controllers may change at any time."""


def lost_room(profile: Profile, assumed: Pod, snapshot: Snapshot) -> str:
    """Return why an assumed pod does not fit on its node any more; empty if it fits, or if the node is gone."""
    position = snapshot.position(assumed.node_name)
    if position is None or not _is_suspect(assumed, snapshot, position):
        return ""
    return missing_room(profile, assumed, assumed.node_name, snapshot)


def missing_room(profile: Profile, pod: Pod, node_name: str, snapshot: Snapshot) -> str:
    """Return why plugins of the profile reject a node for a pod; empty if they accept the node.

    If the pod is on the node, its own resources and ports do not count.
    """
    position = snapshot.position(node_name)
    if position is None:
        return ""
    node = _node_without(pod, snapshot, position)
    reasons: list[str] = []
    for plugin in profile.filter:
        if plugin.name not in CHECKED_PLUGINS:
            continue
        state = None
        if isinstance(plugin, PreFilterPlugin) and plugin in profile.pre_filter:
            answer = plugin.pre_filter(pod, snapshot)
            if answer.status.code is Code.SKIP:
                continue
            state = answer.state
        result = plugin.filter(state, pod, node)
        if not result.passed[0]:
            reasons += status_at(plugin.name, result.rejections(), 0).reasons
    return ", ".join(reasons)


def _node_without(pod: Pod, snapshot: Snapshot, position: int) -> NodeWhatIf:
    node = NodeWhatIf(snapshot, position)
    others = [each for each in node.pods_on(0) if each.uid != pod.uid]
    for placed in [each for each in node.pods_on(0) if each.uid == pod.uid]:
        node.remove_pod(placed)
    if pod.shape.host_ports:
        # A node's host ports are a set. So the removal of the pod also freed ports that another pod uses.
        for other in (each for each in others if each.shape.host_ports):
            node.remove_pod(other)
            node.add_pod(other)
    return node


def _is_suspect(assumed: Pod, snapshot: Snapshot, position: int) -> bool:
    """Return whether the pod may not fit on the node any more, so that the plugins must check the node.

    This quick test comes first, because running the plugins takes longer than the binding.
    """
    if assumed.shape.host_ports or snapshot.pod_count[position] > snapshot.allowed_pods[position]:
        return True
    taints = snapshot.node(position).taints
    if taints and untolerated(assumed.shape.tolerations, taints):
        return True
    return any(
        snapshot.requested(resource)[position] > snapshot.allocatable(resource)[position]
        for resource, _ in assumed.requests.amounts
    )
