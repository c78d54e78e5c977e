from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from builders import ZONE, Object, make, node, pod
from moorage.cluster.intents import BindVolume, Intent, SelectNode
from moorage.cluster.snapshot import Snapshot
from moorage.cluster.what_if import NodeWhatIf
from moorage.framework.cluster_events import added, deleted, updated
from moorage.framework.status import Code
from moorage.model.pods.pod import Pod
from moorage.plugins.upstream.volume_binding import (
    BIND_REASON,
    NO_VOLUME_REASON,
    NODE_AFFINITY_REASON,
    SPACE_REASON,
    VolumeBinding,
)
from plugin_runs import passes, rejections
from storage_builders import DRIVER, claim, mounting, storage_class, storage_snapshot, volume

NODES = (node("a", zone="z1"), node("b", zone="z2"))
NO_PROVISIONER = "kubernetes.io/no-provisioner"
STATIC = storage_class("late", provisioner=NO_PROVISIONER)
DYNAMIC = storage_class("late")
PLUGIN = VolumeBinding()


def late(name: str = "data", **fields: Any) -> Object:
    return claim(name, storage_class="late", **fields)


def local(name: str, *hosts: str, **fields: Any) -> Object:
    return volume(name, storage_class="late", nodes=hosts, **fields)


def reserved(incoming: Pod, snapshot: Snapshot, node_name: str) -> list[Intent]:
    state = PLUGIN.pre_filter(incoming, snapshot).state
    position = snapshot.position(node_name)
    assert position is not None
    return list(PLUGIN.reserve(state, incoming, NodeWhatIf(snapshot, position)))


class TestPreFilter:
    @pytest.mark.parametrize(
        ("objects", "message"),
        [
            ([], 'persistentvolumeclaim "data" not found'),
            (
                [claim(phase="Lost", volume="pv")],
                'persistentvolumeclaim "data" bound to non-existent persistentvolume "pv"',
            ),
            (
                [claim(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
                'persistentvolumeclaim "data" is being deleted',
            ),
            ([claim()], "pod has unbound immediate PersistentVolumeClaims"),
            ([late(), storage_class(mode="Immediate")], "pod has unbound immediate PersistentVolumeClaims"),
            ([late(volumeName="pv"), DYNAMIC], "pod has unbound immediate PersistentVolumeClaims"),
        ],
    )
    def test_pod_is_rejected_if_its_claim_cannot_be_used(self, objects: list[Object], message: str) -> None:
        status = PLUGIN.pre_filter(mounting("p", "data"), storage_snapshot(NODES, [], *objects)).status

        assert (status.code, status.message) == (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, message)

    def test_pod_must_own_its_ephemeral_claim(self) -> None:
        incoming = pod("p", spec={"volumes": [{"name": "tmp", "ephemeral": {}}]})
        unowned = claim("p-tmp")

        missing = PLUGIN.pre_filter(incoming, storage_snapshot(NODES, [])).status
        taken = PLUGIN.pre_filter(incoming, storage_snapshot(NODES, [], unowned)).status

        assert missing.message == (
            'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-tmp"'
        )
        assert taken.message == "PVC default/p-tmp was not created for pod default/p (pod is not owner)"

    def test_pre_filter_fails_if_the_storage_class_has_no_binding_mode(self) -> None:
        snapshot = storage_snapshot(NODES, [], late(), storage_class(mode=None))

        assert PLUGIN.pre_filter(mounting("p", "data"), snapshot).status.code is Code.ERROR

    def test_pre_filter_skips_a_pod_without_claims(self) -> None:
        assert PLUGIN.pre_filter(pod("p"), storage_snapshot(NODES, [])).status.code is Code.SKIP


class TestBoundClaims:
    def test_node_passes_only_if_it_can_use_the_bound_volume(self) -> None:
        snapshot = storage_snapshot(NODES, [], claim(volume="pv"), volume("pv", nodes=["b"]))

        rejected = rejections(PLUGIN, mounting("p", "data"), snapshot)

        assert rejected == {"a": (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, [NODE_AFFINITY_REASON]), "b": None}

    def test_all_nodes_are_rejected_if_the_bound_volume_does_not_exist(self) -> None:
        rejected = rejections(PLUGIN, mounting("p", "data"), storage_snapshot(NODES, [], claim(volume="gone")))

        assert rejected["a"] == (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, [NO_VOLUME_REASON])

    def test_reserve_returns_no_intents_for_bound_claims(self) -> None:
        snapshot = storage_snapshot(NODES, [], claim(volume="pv"), volume("pv"))

        assert reserved(mounting("p", "data"), snapshot, "a") == []


class TestExistingVolumes:
    def test_node_with_a_free_volume_passes(self) -> None:
        snapshot = storage_snapshot(NODES, [], STATIC, late(), local("pv-a", "a"))

        rejected = rejections(PLUGIN, mounting("p", "data"), snapshot)

        assert rejected == {"a": None, "b": (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, [BIND_REASON])}

    @pytest.mark.parametrize(
        "unfit",
        [
            local("pv", "a", size="1Mi"),
            local("pv", "a", phase="Released"),
            local("pv", "a", kept_for="other"),
            local("pv", "a", volumeMode="Block"),
            local("pv", "a", accessModes=["ReadOnlyMany"]),
            volume("pv", storage_class="other", nodes=["a"]),
        ],
    )
    def test_unsuitable_volume_is_not_chosen(self, unfit: Object) -> None:
        snapshot = storage_snapshot(NODES, [], STATIC, late(), unfit)

        assert passes(PLUGIN, mounting("p", "data"), snapshot) == set()

    def test_smallest_volume_is_chosen(self) -> None:
        snapshot = storage_snapshot(NODES, [], STATIC, late(), local("big", "a", size="9Gi"), local("small", "a"))

        assert reserved(mounting("p", "data"), snapshot, "a") == [
            BindVolume(
                volume_name="small",
                volume_resource_version="1",
                claim_namespace="default",
                claim_name="data",
                claim_uid="claim-data",
            )
        ]

    def test_volume_is_chosen_for_one_claim_only(self) -> None:
        claims = [late("one"), late("two")]
        one, two = local("pv-1", "a"), local("pv-2", "a")

        assert passes(PLUGIN, mounting("p", "one", "two"), storage_snapshot(NODES, [], STATIC, *claims, one)) == set()
        assert passes(PLUGIN, mounting("p", "one", "two"), storage_snapshot(NODES, [], STATIC, *claims, one, two)) == {
            "a"
        }

    def test_only_nodes_of_the_volume_pass_if_a_volume_is_reserved_for_the_claim(self) -> None:
        kept, free = local("kept", "a", kept_for="data", phase="Pending"), local("free", "b")
        snapshot = storage_snapshot(NODES, [], STATIC, late(), kept, free)

        assert passes(PLUGIN, mounting("p", "data"), snapshot) == {"a"}


class TestProvisionedVolumes:
    def test_storage_class_provisions_volumes_on_nodes_of_its_allowed_topologies(self) -> None:
        topology = [{"matchLabelExpressions": [{"key": ZONE, "values": ["z2"]}]}]
        snapshot = storage_snapshot(NODES, [], storage_class(allowedTopologies=topology), late())

        assert passes(PLUGIN, mounting("p", "data"), snapshot) == {"b"}
        assert reserved(mounting("p", "data"), snapshot, "b") == [
            SelectNode(claim_namespace="default", claim_name="data", claim_resource_version="1", node_name="b")
        ]

    def test_only_the_selected_node_of_the_claim_passes(self) -> None:
        chosen = late(annotations={"volume.kubernetes.io/selected-node": "b"})
        rejected = rejections(PLUGIN, mounting("p", "data"), storage_snapshot(NODES, [], DYNAMIC, chosen))

        assert rejected == {"a": (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, [BIND_REASON]), "b": None}

    @pytest.mark.parametrize(
        ("limits", "passing"),
        [
            ({"capacity": "5Gi"}, {"a"}),
            ({"capacity": "100Mi"}, set()),
            ({"capacity": "5Gi", "maximumVolumeSize": "100Mi"}, set()),
            ({}, set()),
        ],
    )
    def test_node_is_rejected_if_the_driver_reports_too_little_capacity(
        self, limits: Object, passing: set[str]
    ) -> None:
        driver = {"kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": {"storageCapacity": True}}
        capacity = {
            "kind": "CSIStorageCapacity",
            "metadata": {"name": "c", "namespace": "kube-system"},
            "storageClassName": "late",
            "nodeTopology": {"matchLabels": {ZONE: "z1"}},
            **limits,
        }
        rejected = rejections(
            PLUGIN, mounting("p", "data"), storage_snapshot(NODES, [], DYNAMIC, late(), driver, capacity)
        )

        assert {name for name, refusal in rejected.items() if refusal is None} == passing
        assert rejected["b"] == (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, [SPACE_REASON])

    def test_reserve_prefers_an_existing_volume_to_provisioning(self) -> None:
        snapshot = storage_snapshot(NODES, [], DYNAMIC, late(), local("pv-a", "a"))

        assert [type(each) for each in reserved(mounting("p", "data"), snapshot, "a")] == [BindVolume]
        assert [type(each) for each in reserved(mounting("p", "data"), snapshot, "b")] == [SelectNode]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [('{"bindTimeoutSeconds": -1}', "greater than"), ('{"shape": []}', "unexpected field `shape`")],
)
def test_arguments_that_kube_scheduler_rejects_are_rejected(arguments: str, fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        VolumeBinding.model_validate_json(arguments, strict=True)


def test_pod_is_queued_only_if_a_change_may_help_its_claims() -> None:
    waiting = mounting("p", "data")
    wide, narrow = (
        make("StorageClass", storage_class(allowedTopologies=topology))
        for topology in ([], [{"matchLabelExpressions": [{"key": ZONE, "values": ["z2"]}]}])
    )

    assert PLUGIN.queueing_hint(waiting, added("PersistentVolume", make("PersistentVolume", volume())))
    assert PLUGIN.queueing_hint(waiting, updated("StorageClass", narrow, wide))
    assert not PLUGIN.queueing_hint(waiting, updated("StorageClass", wide, wide))
    assert PLUGIN.queueing_hint(waiting, added("PersistentVolumeClaim", make("PersistentVolumeClaim", claim())))
    assert not PLUGIN.queueing_hint(waiting, added("PersistentVolumeClaim", make("PersistentVolumeClaim", claim("x"))))
    assert not PLUGIN.queueing_hint(waiting, deleted("PersistentVolume", make("PersistentVolume", volume())))
    assert not PLUGIN.queueing_hint(waiting, updated("Node", node("a", cpu="1"), node("a", cpu="2")))


CLAIMS = st.lists(st.sampled_from(["1Gi", "2Gi", "3Gi"]), min_size=1, max_size=3)
VOLUMES = st.lists(
    st.tuples(
        st.sampled_from(["1Gi", "2Gi", "3Gi"]),
        st.sets(st.sampled_from(["a", "b"])),
        st.sampled_from(["", "c0", "c1", "other"]),
    ),
    max_size=5,
)


@settings(max_examples=60)
@given(CLAIMS, VOLUMES)
def test_choice_agrees_with_a_check_of_each_node(sizes: list[str], offers: list[tuple[str, set[str], str]]) -> None:
    claims = [late(f"c{index}", size=size) for index, size in enumerate(sizes)]
    volumes = [
        local(f"pv{index}", *sorted(hosts), size=size, kept_for=kept)
        for index, (size, hosts, kept) in enumerate(offers)
    ]
    snapshot = storage_snapshot(NODES, [], DYNAMIC, *claims, *volumes)
    incoming = mounting("p", *(f"c{index}" for index in range(len(sizes))))

    for name in ("a", "b"):
        intents = reserved(incoming, snapshot, name)
        chosen = {each.claim_name: each.volume_name for each in intents if isinstance(each, BindVolume)}
        assert chosen == choose(sizes, offers, name)


def choose(sizes: list[str], offers: list[tuple[str, set[str], str]], host: str) -> dict[str, str]:
    """Return the volume of each claim: its reserved volume or the smallest free volume. Smaller claims choose first."""
    chosen: dict[str, str] = {}
    for size, name in sorted(((size, f"c{index}") for index, size in enumerate(sizes)), key=lambda pair: pair[0]):
        kept = [(index, hosts) for index, (offer, hosts, owner) in enumerate(offers) if owner == name and offer >= size]
        if kept:
            index, hosts = kept[0]
            if not hosts or host in hosts:
                chosen[name] = f"pv{index}"
            continue
        free = [
            (offer, index)
            for index, (offer, hosts, owner) in enumerate(offers)
            if not owner and offer >= size and (not hosts or host in hosts) and f"pv{index}" not in chosen.values()
        ]
        if free:
            chosen[name] = f"pv{min(free)[1]}"
    return chosen
