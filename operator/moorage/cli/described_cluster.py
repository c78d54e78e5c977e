"""Makes a dump for `moorage simulate` from files: nodes from a dump or from node groups, and pods from a YAML file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moorage.errors import Fault, InvalidInput

if TYPE_CHECKING:
    from moorage.inventory import Inventory

Json = dict[str, Any]


def of_node_groups(file: Path) -> list[Json]:
    """Return the nodes of a file of node groups; raise NodeGroupsError or InvalidInput if it cannot be used."""
    from moorage.sandbox.simulation.node_groups import load_node_groups
    from moorage.simulator.node_file import MAX_NODES

    try:
        groups = load_node_groups(file)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise InvalidInput([Fault((), None, f"{file}: {reason or error}")]) from error
    if sum(group.count for group in groups) > MAX_NODES:
        raise InvalidInput([Fault((), None, f"{file}: the groups have more than {MAX_NODES} nodes")])
    nodes = [node for group in groups for node in group.nodes()]
    if not nodes:
        raise InvalidInput([Fault((), None, f"{file}: the groups have no nodes; set the count of at least one")])
    names = {node["metadata"]["name"] for node in nodes}
    if len(names) < len(nodes):
        raise InvalidInput([Fault((), None, f"{file}: two groups have nodes with the same name; rename a group")])
    return nodes


def of_dump(file: Path) -> list[Json]:
    """Return the objects of a dump, without the pods that have no node.

    Raise UnusableDump if the dump cannot be used.
    """
    from moorage.inventory import check_objects, read_dump

    inventory = read_dump(file)
    check_objects(inventory)
    bodies = [{"kind": kind, **body} for kind in inventory.counts for body in inventory.bodies(kind)]
    return [body for body in bodies if body["kind"] != "Pod" or body.get("spec", {}).get("nodeName")]


def with_pods(cluster: Sequence[Json], file: Path | None) -> Inventory:
    """Return the inventory with the objects of a cluster and the objects of a file. The file must contain pods.

    Raise InvalidInput if the file cannot be used.
    """
    from moorage.errors import UnusableDump
    from moorage.inventory import Inventory, check_objects
    from moorage.policy_tests.object_completion import POD, complete_cluster, complete_pods
    from moorage.policy_tests.policy_test_reader import read_objects

    added = read_objects(file) if file else []
    pods = [body for body in added if body["kind"] == POD]
    if file and not pods:
        raise InvalidInput([Fault((), None, f"{file}: the file has no pods")])
    objects = [*cluster, *(body for body in added if body["kind"] != POD)]
    placed = [body for body in objects if body["kind"] == POD]
    others = [body for body in objects if body["kind"] != POD]
    complete_pods(pods, others)
    for pod in pods:
        pod["spec"].pop("nodeName", None)
        pod["status"]["phase"] = "Pending"
    complete_cluster(others, pods)
    if file:
        _refuse_repeated([*placed, *pods], file)
    inventory = Inventory.of([*others, *placed, *pods])
    try:
        check_objects(Inventory.of([*others, *pods]))
    except UnusableDump as error:
        raise InvalidInput([Fault((), None, f"{file}: {error}")]) from error
    return inventory


def _refuse_repeated(pods: Sequence[Json], file: Path) -> None:
    seen: set[tuple[str, str]] = set()
    for pod in pods:
        metadata = pod["metadata"]
        key = (metadata.get("namespace", "default"), metadata["name"])
        if key in seen:
            raise InvalidInput([Fault((), None, f"{file}: there are two pods {key[0]}/{key[1]}; rename one of them")])
        seen.add(key)
