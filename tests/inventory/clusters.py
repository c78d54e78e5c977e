"""Cluster objects of several kinds for tests of inventories."""

from __future__ import annotations

from builders import Object, node_object, pod_object

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs-web", "controller": True}


def web_cluster() -> list[Object]:
    """Return two nodes, a workload with a budget, a waiting pod with a volume, and a policy."""
    labels = {"app": "web"}
    pods = [
        pod_object(f"web-{index}", labels=labels, node="n1", cpu="500m", owner=OWNER, phase="Running")
        for index in range(3)
    ]
    waiting = pod_object(
        "waiting",
        cpu="1",
        phase="Pending",
        spec={
            "schedulerName": "spot",
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        },
    )
    return [
        {
            "kind": "SchedulingPolicy",
            "metadata": {
                "name": "spot",
                "uid": "policy-spot",
                "generation": 4,
                "creationTimestamp": "2026-01-01T00:00:00Z",
            },
            "spec": {"zones": {"prefer": ["z-a"]}},
        },
        {"kind": "Namespace", "metadata": {"name": "default", "labels": {"team": "a"}}},
        node_object("n1", zone="z-a"),
        node_object("n2", zone="z-b"),
        {
            "kind": "StorageClass",
            "metadata": {"name": "fast"},
            "provisioner": "ebs.csi.aws.com",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
        {
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "default", "uid": "claim-data"},
            "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}},
            "status": {"phase": "Pending"},
        },
        {
            "kind": "ReplicaSet",
            "metadata": {"name": "web", "namespace": "default", "uid": "rs-web"},
            "spec": {"selector": {"matchLabels": labels}},
        },
        {
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "web", "namespace": "default", "uid": "budget-web"},
            "spec": {"selector": {"matchLabels": labels}},
            "status": {"disruptionsAllowed": 1},
        },
        *pods,
        waiting,
    ]
