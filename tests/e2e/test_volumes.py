"""Pods with claims on a real API server. Kubernetes' volume controller runs; the tests act as the provisioner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from e2e.audited import Audited
from e2e.case import LABEL, Case
from e2e.clusters import Manifest, eventually

pytestmark = [pytest.mark.controlplane, pytest.mark.slow]

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
ROOM = {"cpu": "4", "memory": "16Gi", "pods": "110"}
SOON = 60.0
"""The limit in seconds for steps in which the volume controller works and a pod waits for its backoff."""
CONTROLLERS = (
    "persistentvolume-binder-controller",
    "persistentvolumeclaim-protection-controller",
    "persistentvolume-protection-controller",
)


class Scene:
    """A case with two nodes, `a` and `b`, and two storage classes with WaitForFirstConsumer.

    The test provisions the volumes of the class `late`. The class `local` has no provisioner; the test creates its
    volumes by hand.
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        nodes = [case.node(name, labels={"kubernetes.io/hostname": self.node(name)}, allocatable=ROOM) for name in "ab"]
        provisioners = {"late": "example.com/a-test", "local": "kubernetes.io/no-provisioner"}
        classes = [
            {
                **self._object("storage.k8s.io/v1", "StorageClass", name),
                "provisioner": provisioner,
                "volumeBindingMode": "WaitForFirstConsumer",
            }
            for name, provisioner in provisioners.items()
        ]
        case.cluster.apply(*classes, *nodes)

    def node(self, suffix: str) -> str:
        return f"{self.case.name}-{suffix}"

    def pod(self, suffix: str, claim: str, **spec: Any) -> Manifest:
        """Return a pod with a claim. The pod fits only the case's nodes."""
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": self.node(claim)}}]
        return self.case.pod(suffix, volumes=volumes, **{"nodeSelector": self.case.labels(), **spec})

    def claim(self, suffix: str, *, annotations: Manifest | None = None, **spec: Any) -> Manifest:
        made = self._object("v1", "PersistentVolumeClaim", suffix)
        made["metadata"]["annotations"] = annotations or {}
        usual = {
            "storageClassName": self.node("late"),
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        }
        return {**made, "spec": {**usual, **spec}}

    def volume(self, suffix: str, node: str, **spec: Any) -> Manifest:
        """Return a volume that only one node can use."""
        expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [self.node(node)]}
        usual = {
            "storageClassName": self.node("late"),
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "local": {"path": "/data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
        }
        return {**self._object("v1", "PersistentVolume", suffix), "spec": {**usual, **spec}}

    def provision(self, claim: str, node: str) -> None:
        """Create a volume for a claim on its selected node, as a provisioner does."""
        uid = self.get_claim(claim)["metadata"]["uid"]
        reference = {"namespace": "default", "name": self.node(claim), "uid": uid}
        self.case.cluster.apply(self.volume(f"for-{claim}", node, claimRef=reference))

    def create_bound_pair(self, suffix: str, node: str, mode: str, **source: Any) -> None:
        """Create a claim and a volume, and wait until they are bound to each other."""
        name, modes = self.node(suffix), [mode]
        reference = {"namespace": "default", "name": name}
        self.case.cluster.apply(
            self.volume(suffix, node, claimRef=reference, accessModes=modes, **source),
            self.claim(suffix, volumeName=name, accessModes=modes),
        )
        eventually(lambda: self.get_claim(suffix)["status"]["phase"] == "Bound", SOON)

    def get_claim(self, suffix: str) -> Manifest:
        found: Manifest = self.case.reader.read(f"{CLAIMS}/{self.node(suffix)}")
        return found

    def selected_node(self, claim: str) -> str:
        return str(self.get_claim(claim)["metadata"].get("annotations", {}).get(SELECTED_NODE, ""))

    def _object(self, version: str, kind: str, suffix: str) -> Manifest:
        metadata = {"name": self.node(suffix), "labels": {LABEL: self.case.name}}
        return {"apiVersion": version, "kind": kind, "metadata": metadata}


@pytest.fixture(scope="module")
def volume_controller(audited: Audited) -> Iterator[None]:
    with audited.control_plane.start_controller_manager(CONTROLLERS):
        yield


@pytest.fixture
def scene(case_with_operator: Case, volume_controller: None) -> Iterator[Scene]:
    del volume_controller
    case = case_with_operator
    yield Scene(case)
    case.cluster.kubectl("delete", "pods", f"--selector={LABEL}={case.name}", "--force", "--grace-period=0")
    kinds = "persistentvolumeclaims,persistentvolumes,storageclasses,csinodes"
    case.cluster.kubectl("delete", kinds, f"--selector={LABEL}={case.name}", "--wait=false")


def test_a_claim_is_bound_before_its_pod_and_the_pod_runs_on_the_volumes_node(scene: Scene) -> None:
    case = scene.case
    case.make_live()
    local: dict[str, Any] = {"storageClassName": scene.node("local")}
    case.cluster.apply(scene.volume("disk", "b", **local), scene.claim("data", **local), scene.pod("p", "data"))

    assert case.wait_until_bound("p", SOON) == scene.node("b")
    claim = scene.get_claim("data")
    assert (claim["spec"]["volumeName"], claim["status"]["phase"]) == (scene.node("disk"), "Bound")


def test_a_pod_waits_until_its_claim_is_provisioned_on_the_selected_node(scene: Scene) -> None:
    case = scene.case
    case.make_live()
    case.cluster.apply(
        scene.claim("data"), scene.pod("p", "data", nodeSelector={"kubernetes.io/hostname": scene.node("a")})
    )

    eventually(lambda: scene.selected_node("data") == scene.node("a"))
    assert not case.node_of("p")
    scene.provision("data", "a")
    assert case.wait_until_bound("p", SOON) == scene.node("a")


def test_a_pod_gets_an_event_and_is_retried_if_its_volume_exceeds_the_bind_timeout(scene: Scene) -> None:
    case = scene.case
    quick = [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 2}}]
    case.make_live(pluginConfig=quick, backoff={"initialSeconds": 1, "maxSeconds": 1})
    case.cluster.apply(scene.claim("data"), scene.pod("p", "data"), case.pod("other"))

    assert case.wait_until_bound("other")
    note = case.wait_for_event("p", "FailedScheduling", seconds=SOON)
    assert f"binding volumes: not all are bound after 2 s: claim default/{scene.node('data')}" in note
    scene.provision("data", scene.selected_node("data").removeprefix(f"{case.name}-"))
    assert case.wait_until_bound("p", SOON) == scene.selected_node("data")


def test_a_pod_waits_for_its_claim_and_volume_if_they_are_missing(scene: Scene) -> None:
    case = scene.case
    case.make_live()
    case.cluster.apply(scene.pod("p", "data"))

    assert f'persistentvolumeclaim "{scene.node("data")}" not found' in case.wait_for_event("p", "FailedScheduling")
    local: dict[str, Any] = {"storageClassName": scene.node("local")}
    case.cluster.apply(scene.claim("data", **local))
    words = "2 node(s) didn't find available persistent volumes to bind"
    eventually(lambda: words in case.pod_conditions("p")["PodScheduled"]["message"], SOON)
    case.cluster.apply(scene.volume("disk", "a", **local))
    assert case.wait_until_bound("p", SOON) == scene.node("a")


def test_the_event_names_a_claim_that_is_deleted_during_provisioning(scene: Scene) -> None:
    case = scene.case
    case.make_live()
    case.cluster.apply(scene.claim("data"), scene.pod("p", "data"))
    eventually(lambda: bool(scene.selected_node("data")))
    case.cluster.kubectl("delete", "pvc", scene.node("data"), "--wait=false")

    eventually(
        lambda: any(
            f"claim default/{scene.node('data')}" in note and "deleted" in note
            for note in case.notes("p", "FailedScheduling")
        ),
        SOON,
    )
    assert not case.node_of("p")


def test_a_node_gets_no_more_volumes_than_its_csi_limit(scene: Scene) -> None:
    case = scene.case
    case.make_live()
    driver = "csi.example.com"
    limits = [{"name": driver, "nodeID": "a", "topologyKeys": [], "allocatable": {"count": 1}}]
    csi_node = scene._object("storage.k8s.io/v1", "CSINode", "a")
    case.cluster.apply({**csi_node, "spec": {"drivers": limits}})
    for name in ("first", "second"):
        scene.create_bound_pair(name, "a", "ReadWriteOnce", local=None, csi={"driver": driver, "volumeHandle": name})

    case.cluster.apply(scene.pod("first", "first"))
    assert case.wait_until_bound("first", SOON) == scene.node("a")
    case.cluster.apply(scene.pod("second", "second"))
    assert "1 node(s) exceed max volume count" in case.wait_for_event("second", "FailedScheduling", seconds=SOON)
    case.cluster.kubectl("delete", "pod", f"{case.name}-first", "--force", "--grace-period=0")
    assert case.wait_until_bound("second", SOON) == scene.node("a")


def test_a_read_write_once_pod_claim_admits_one_pod_at_a_time(scene: Scene) -> None:
    case = scene.case
    case.make_live()
    scene.create_bound_pair(
        "single", "a", "ReadWriteOncePod", local=None, csi={"driver": "csi.example.com", "volumeHandle": "s"}
    )
    case.cluster.apply(scene.pod("holder", "single"))
    assert case.wait_until_bound("holder", SOON) == scene.node("a")
    case.cluster.apply(scene.pod("waiter", "single"))

    words = "2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use"
    assert words in case.wait_for_event("waiter", "FailedScheduling", seconds=SOON)
    case.cluster.kubectl("delete", "pod", f"{case.name}-holder", "--force", "--grace-period=0")
    assert case.wait_until_bound("waiter", SOON) == scene.node("a")


def test_a_claim_whose_selected_node_is_gone_gets_another_node(scene: Scene) -> None:
    case = scene.case
    case.make_live()
    case.cluster.apply(scene.claim("data", annotations={SELECTED_NODE: "gone"}), scene.pod("p", "data"))

    eventually(lambda: scene.selected_node("data") in {scene.node("a"), scene.node("b")}, SOON)
    events = [event for event in case.events() if event["reason"] == "SelectedNodeGone"]
    assert [event["regarding"]["name"] for event in events] == [scene.node("data")]
    assert "selected node gone does not exist any more" in events[0]["note"]
    scene.provision("data", scene.selected_node("data").removeprefix(f"{case.name}-"))
    assert case.wait_until_bound("p", SOON)


def test_a_pod_gets_another_node_if_another_scheduler_fills_its_node_during_volume_binding(scene: Scene) -> None:
    case = scene.case
    case.make_live()
    case.cluster.apply(scene.claim("c"), scene.pod("p", "c", requests={"cpu": "3"}))
    eventually(lambda: scene.selected_node("c") != "", SOON)
    full = scene.selected_node("c")
    case.cluster.apply(case.pod("foreign", requests={"cpu": "3"}, nodeName=full))
    uid = scene.get_claim("c")["metadata"]["uid"]
    reference = {"namespace": "default", "name": scene.node("c"), "uid": uid}
    anywhere = {"local": None, "nodeAffinity": None, "hostPath": {"path": "/data"}}
    case.cluster.apply(scene.volume("for-c", "a", claimRef=reference, **anywhere))

    assert case.wait_until_bound("p", SOON) not in {"", full}
    note = f"binding rejected: node {full} has no room for the pod any more: Insufficient cpu"
    assert note in case.notes("p", "FailedScheduling")
