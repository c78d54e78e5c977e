"""The extender of `go/cmd/extender` with the real kube-scheduler. kube-scheduler sends node names or whole nodes."""

import pytest

from controlplane.launcher import ControlPlane
from controlplane.objects import NODES, PODS, create_objects, pause_pod, simulated_node

pytestmark = [pytest.mark.controlplane, pytest.mark.parametrize("names_only", [True, False])]

SOON = "--timeout=30s"
BEING_DELETED = "jsonpath={.items[?(@.metadata.deletionTimestamp)].metadata.name}"


def labelled(name: str, *, fits: str, score: str = "0", cpu: str = "16") -> dict[str, object]:
    labels = {"extender.moorage.dev/fits": fits, "extender.moorage.dev/score": score}
    return simulated_node(name, labels=labels, allocatable={"cpu": cpu})


async def test_the_extender_filters_scores_and_binds(empty_control_plane: ControlPlane, *, names_only: bool) -> None:
    unfit, good = labelled("unfit", fits="false", score="10"), labelled("good", fits="true", score="2")
    await create_objects(empty_control_plane, NODES, [unfit, good, labelled("best", fits="true", score="9")])
    await create_objects(empty_control_plane, PODS, [pause_pod("picky")])

    with empty_control_plane.start_extender() as extender:
        verbs = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "bindVerb": "bind", "weight": 100}
        configuration = {"urlPrefix": extender.endpoint.url, "nodeCacheCapable": names_only, **verbs}
        with empty_control_plane.start_scheduler({"extenders": [configuration]}):
            empty_control_plane.kubectl("wait", "pod/picky", "--for=jsonpath={.spec.nodeName}=best", SOON)


async def test_the_extender_allows_preemption_only_on_nodes_that_fit(
    empty_control_plane: ControlPlane, *, names_only: bool
) -> None:
    nodes = [labelled("unfit", fits="false", cpu="2"), labelled("fit", fits="true", cpu="2")]
    # Without the extender, kube-scheduler would choose the node with fewer victims.
    victims = [
        pause_pod("spared", cpu="2", nodeName="unfit"),
        pause_pod("victim-1", cpu="1", nodeName="fit"),
        pause_pod("victim-2", cpu="1", nodeName="fit"),
    ]
    urgent = pause_pod("urgent", cpu="2", priorityClassName="system-cluster-critical")
    await create_objects(empty_control_plane, NODES, nodes)
    await create_objects(empty_control_plane, PODS, [*victims, urgent])

    with empty_control_plane.start_extender() as extender:
        configuration = {"urlPrefix": extender.endpoint.url, "nodeCacheCapable": names_only, "preemptVerb": "preempt"}
        with empty_control_plane.start_scheduler({"extenders": [configuration]}):
            empty_control_plane.kubectl("wait", "pod/urgent", "--for=jsonpath={.status.nominatedNodeName}=fit", SOON)
    deleted = empty_control_plane.kubectl("get", "pods", "-o", BEING_DELETED)
    assert deleted.stdout == "victim-1 victim-2"
