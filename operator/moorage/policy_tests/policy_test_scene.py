"""Builds the objects of a test: the cluster, the pods in place, and the pods that arrive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from moorage.errors import Fault
from moorage.inventory import check_objects, read_dump
from moorage.policy_tests.object_completion import POD, complete_cluster, complete_pods
from moorage.policy_tests.policy_test_models import ClusterSection, PodGroup, PolicyTestCase
from moorage.policy_tests.policy_test_reader import Json, LoadedTests, in_file, read_objects
from moorage.sandbox.multiline_error import MultilineError
from moorage.sandbox.simulation.node_groups import load_node_groups


@dataclass(slots=True)
class PolicyTestScene:
    """The objects of one test, as JSON."""

    cluster: list[Json] = field(default_factory=list)
    """All objects except pods. Nodes are sorted by name."""
    placed: list[Json] = field(default_factory=list)
    waves: tuple[list[Json], list[Json]] = field(default_factory=lambda: ([], []))
    """The pods that arrive first, and the pods that arrive later."""

    def nodes(self) -> Iterator[Json]:
        """Yield the nodes."""
        return (body for body in self.cluster if body.get("kind") == "Node")


def build_scene(tests: LoadedTests, case: PolicyTestCase, scheduler_name: str) -> PolicyTestScene:
    """Build the objects of a test. Raise InvalidInput if a file cannot be read."""
    scene = PolicyTestScene()
    _add_cluster(scene, tests, case.cluster or tests.file.cluster)
    of_cluster = len(scene.placed)
    scene.placed += _pods(scene, tests, case.placed, scheduler_name)
    scene.waves[0].extend(_pods(scene, tests, case.pods, scheduler_name))
    scene.waves[1].extend(_pods(scene, tests, case.later, scheduler_name))
    pods = (*scene.placed, *scene.waves[0], *scene.waves[1])
    complete_pods(pods, scene.cluster)
    line = tests.line_of("tests", tests.file.tests.index(case))
    faults = [*_repeated_names(scene), *_misplaced_pods(scene.placed[of_cluster:], scene)]
    if faults:
        raise in_file(tests.path, [Fault((), line, fault) for fault in faults])
    complete_cluster(scene.cluster, pods)
    scene.cluster.sort(key=lambda body: (body.get("kind") == "Node", body["metadata"]["name"]))
    return scene


def _add_cluster(scene: PolicyTestScene, tests: LoadedTests, cluster: ClusterSection) -> None:
    if cluster.dump:
        inventory = read_dump(tests.resolve(cluster.dump))
        check_objects(inventory)
        for kind in inventory.counts:
            for body in inventory.bodies(kind):
                if kind != POD:
                    scene.cluster.append(body)
                elif body.get("spec", {}).get("nodeName"):
                    scene.placed.append(body)
    else:
        groups = cluster.node_groups or _groups_of_file(tests, cluster.node_groups_file)
        scene.cluster += [node for group in groups for node in group.nodes()]
    for name in cluster.objects:
        scene.cluster += [body for body in read_objects(tests.resolve(name)) if body.get("kind") != POD]


def _groups_of_file(tests: LoadedTests, name: str | None) -> Iterable[Any]:
    path = tests.resolve(name) if name else None
    try:
        return load_node_groups(path)
    except MultilineError as error:
        raise in_file(tests.path, [Fault((), None, str(error))]) from error
    except OSError as error:
        raise in_file(path or tests.path, [Fault((), None, error.strerror or str(error))]) from error


def _pods(
    scene: PolicyTestScene, tests: LoadedTests, groups: Iterable[PodGroup], scheduler_name: str
) -> Iterator[Json]:
    for group in groups:
        if group.file is None:
            yield from _pods_of_group(group, scheduler_name)
            continue
        path = tests.resolve(group.file)
        bodies = read_objects(path)
        if not any(body.get("kind") == POD for body in bodies):
            raise in_file(path, [Fault((), None, "has no pods")])
        for body in bodies:
            if body.get("kind") != POD:
                scene.cluster.append(body)
            else:
                if group.node:
                    body.setdefault("spec", {})["nodeName"] = group.node
                yield body


def _pods_of_group(group: PodGroup, scheduler_name: str) -> Iterator[Json]:
    native = {"cpu": group.cpu, "memory": group.memory}
    amounts = {**group.resources, **{name: amount for name, amount in native.items() if amount is not None}}
    names = [str(group.name)] if group.count == 1 else [f"{group.name}-{index}" for index in range(group.count)]
    for name in names:
        spec: Json = {
            "schedulerName": group.scheduler_name or scheduler_name,
            "containers": [{"name": "main", "image": "main", "resources": {"requests": dict(amounts)}}],
            **({"priority": group.priority} if group.priority else {}),
            **({"nodeName": group.node} if group.node else {}),
            **group.spec,
        }
        metadata = {"name": name, "namespace": group.namespace, "labels": dict(group.labels)}
        yield {"apiVersion": "v1", "kind": POD, "metadata": metadata, "spec": spec}


def _repeated_names(scene: PolicyTestScene) -> Iterator[str]:
    """Yield a fault for each name that several pods or several nodes have."""
    pods = (*scene.placed, *scene.waves[0], *scene.waves[1])
    keys = Counter(f"pods {pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in pods)
    keys.update(f"nodes {node['metadata']['name']}" for node in scene.nodes())
    for key, count in keys.items():
        if count > 1:
            yield f"there are {count} {key}; rename them"


def _misplaced_pods(pods: Iterable[Json], scene: PolicyTestScene) -> Iterator[str]:
    """Yield a fault for each pod in place whose node does not exist."""
    nodes = [node["metadata"]["name"] for node in scene.nodes()]
    for pod in pods:
        name, node = pod["metadata"]["name"], pod["spec"].get("nodeName", "")
        if node not in nodes:
            near = get_close_matches(node, nodes, n=1) or nodes[:1]
            hint = f"; there is a node {near[0]}" if near else ""
            yield f"the pod {name} is in place on the node {node!r}, which does not exist{hint}"
