"""Incremental counts of attachable volumes agree with a full recount."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from builders import make, node
from moorage.cluster.node_columns import NodeColumns
from moorage.cluster.snapshot import Snapshot
from moorage.cluster.volumes.attachable_volumes import UNLIMITED
from moorage.cluster.volumes.volume_keys import VolumeKey
from moorage.model.pods.pod import Pod
from storage_builders import DRIVER, claim, csi_node, mounting, storage_class, volume

NODES = ("a", "b")
CLAIMS = ("x", "y", "z")
PODS = ("p", "q", "r")


class Cluster(RuleBasedStateMachine):
    """A cluster in which rules place and remove pods, bind claims and attach volumes."""

    def __init__(self) -> None:
        super().__init__()
        self.columns = NodeColumns()
        self.snapshot = Snapshot(self.columns)
        self.placed: dict[str, Pod] = {}
        self.bound: set[str] = set()
        self.attached: set[tuple[str, str]] = set()
        for name in NODES:
            self.columns.set_node(node(name))
        self.columns.objects.set("StorageClass", "late", make("StorageClass", storage_class("late")))
        for name in CLAIMS:
            handle = volume(f"pv-{name}", handle=f"h-{name}")
            self.columns.objects.set("PersistentVolume", f"pv-{name}", make("PersistentVolume", handle))

    @rule(name=st.sampled_from(PODS), on=st.sampled_from(NODES), claims=st.sets(st.sampled_from(CLAIMS)))
    def place(self, name: str, on: str, claims: set[str]) -> None:
        self.remove(name)
        self.placed[name] = mounting(name, *claims, node=on)
        self.columns.add_pod(self.placed[name], on)

    @rule(name=st.sampled_from(PODS))
    def remove(self, name: str) -> None:
        if name in self.placed:
            self.columns.remove_pod(self.placed.pop(name))

    @rule(name=st.sampled_from(CLAIMS), bound=st.booleans())
    def set_claim(self, name: str, *, bound: bool) -> None:
        body = claim(name, volume=f"pv-{name}") if bound else claim(name, storage_class="late")
        self.columns.objects.set("PersistentVolumeClaim", f"default/{name}", make("PersistentVolumeClaim", body))
        self.bound.discard(name)
        self.bound |= {name} if bound else set()

    @rule(name=st.sampled_from(CLAIMS), on=st.sampled_from(NODES))
    def attach(self, name: str, on: str) -> None:
        spec = {"attacher": DRIVER, "nodeName": on, "source": {"persistentVolumeName": f"pv-{name}"}}
        body = {"metadata": {"name": f"{name}-{on}"}, "spec": spec}
        self.columns.objects.set("VolumeAttachment", f"{name}-{on}", make("VolumeAttachment", body))
        self.attached.add((name, on))

    def handles(self, on: str) -> set[str]:
        """Return the handles of the volumes that the node's pods use. An unbound claim counts as a volume."""
        known = self.columns.objects.of_kind("PersistentVolumeClaim")
        used = {
            mount.claim_name
            for each in self.placed.values()
            if each.node_name == on
            for mount in each.shape.volumes
            if f"default/{mount.claim_name}" in known
        }
        return {f"h-{name}" if name in self.bound else f"claim default/{name}" for name in used}

    @invariant()
    def counts_agree_with_a_recount(self) -> None:
        expected = [len(self.handles(on) | {f"h-{name}" for name, at in self.attached if at == on}) for on in NODES]

        assert self.snapshot.attached_volumes(DRIVER).tolist() == expected

    @invariant()
    def users_agree_with_a_recount(self) -> None:
        for name in CLAIMS:
            expected = [f"h-{name}" in self.handles(on) for on in NODES]
            assert self.snapshot.volume_in_use(VolumeKey(DRIVER, f"h-{name}")).tolist() == expected


TestCluster = Cluster.TestCase
TestCluster.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)


def test_csi_node_sets_the_volume_limit_of_its_node() -> None:
    columns = NodeColumns()
    for name in NODES:
        columns.set_node(node(name))
    for name in ("b", "unknown"):
        columns.objects.set("CSINode", name, make("CSINode", csi_node(name, csi_example_com=7)))

    assert Snapshot(columns).volume_limit(DRIVER).tolist() == [UNLIMITED, 7]
