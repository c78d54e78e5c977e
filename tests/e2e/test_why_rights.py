"""`moorage why` through the Lease, a port-forward and TLS, with the rights that a real API server gives to its users.

The control plane has no kubelets, so a program named kubectl stands in for `kubectl port-forward`: it prints what
kubectl prints, with the port of the operator.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from controlplane.component import Component, Endpoint
from controlplane.launcher import ControlPlane
from e2e.clusters import Cluster, Manifest, eventually, real_cluster
from moorage.runtime.serving.certificate import self_signed
from processes import started

pytestmark = [pytest.mark.controlplane, pytest.mark.slow, pytest.mark.tls]

NOT_QUITE_LOOPBACK = "127.1"
"""The operator does not recognize this form of 127.0.0.1 as loopback. It therefore serves HTTPS and requires tokens."""
OPERATOR = "moorage-0"
SYSTEM = "moorage-system"
TENANT, STRANGER = "ann", "zoe"
ASKING = [
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
]
READING = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]


@dataclass(frozen=True, slots=True)
class Asked:
    """The result of the command."""

    status: int
    out: str
    err: str


class Scene:
    """A cluster with an operator that serves HTTPS, and a kubectl that forwards to it."""

    def __init__(self, cluster: Cluster, port: int) -> None:
        self.cluster = cluster
        self.programs = cluster.directory / "programs"
        self.programs.mkdir()
        self.calls = cluster.directory / "kubectl-calls"
        script = self.programs / "kubectl"
        script.write_text(
            f'#!/bin/sh\necho "$@" >> {self.calls}\necho "Forwarding from 127.0.0.1:{port} -> 10259"\nexec sleep 600\n'
        )
        script.chmod(0o755)

    def why(self, user: str, pod: str, *flags: str, path: str | None = None) -> Asked:
        control_plane = self.cluster.control_plane
        assert control_plane is not None
        kubeconfig = control_plane.kubeconfig_of(user)
        done = subprocess.run(
            [sys.executable, "-m", "moorage", "why", pod, f"--kubeconfig={kubeconfig}", *flags],
            env={**os.environ, "PATH": path or f"{self.programs}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
        return Asked(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("why")
    control_plane = ControlPlane()
    for user in (TENANT, STRANGER):
        control_plane.add_user(user)
    with real_cluster(directory, control_plane) as cluster:
        cluster.apply(*objects())
        with started(operator(cluster)) as component:
            port = int(component.endpoint.url.rpartition(":")[2])
            yield prepared(Scene(cluster, port))


def operator(cluster: Cluster) -> Component:
    port = cluster.ports.take()
    pem = cluster.directory / "serving.pem"
    pem.write_bytes(self_signed(["127.0.0.1"], datetime.now(UTC)))
    command: list[str | Path] = [
        "env",
        f"POD_NAME={OPERATOR}",
        f"POD_NAMESPACE={SYSTEM}",
        sys.executable,
        "-m",
        "moorage",
        "run",
    ]
    command += [f"--kubeconfig={cluster.kubeconfig}", f"--bind-address={NOT_QUITE_LOOPBACK}", f"--port={port}"]
    command += [f"--tls-cert-file={pem}", f"--tls-private-key-file={pem}"]
    endpoint = Endpoint(f"https://127.0.0.1:{port}", ("/readyz",), ca_file=pem)
    return Component(command, cluster.directory / "operator.log", endpoint)


def objects() -> list[Manifest]:
    """Return namespaces, rights, priorities, a policy, a node for both tenants, and the pod of the operator."""

    def named(kind: str, name: str, namespace: str = "", **fields: Any) -> Manifest:
        group = {"Role": "rbac.authorization.k8s.io/v1", "RoleBinding": "rbac.authorization.k8s.io/v1"}.get(kind, "v1")
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        return {"apiVersion": fields.pop("version", group), "kind": kind, "metadata": metadata, **fields}

    def granted(namespace: str, rules: list[Manifest], *users: str) -> list[Manifest]:
        subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user} for user in users]
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "why"}
        return [
            named("Role", "why", namespace, rules=rules),
            named("RoleBinding", "why", namespace, roleRef=role, subjects=subjects),
        ]

    container = {"name": "c", "image": "registry.k8s.io/pause:3.10"}
    status = {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"}}
    return [
        *(named("Namespace", name) for name in ("red", "blue", SYSTEM)),
        *(granted("kube-system", ASKING, TENANT, STRANGER) + granted(SYSTEM, ASKING, TENANT, STRANGER)),
        *granted("red", READING, TENANT),
        *(named("PriorityClass", name, version="scheduling.k8s.io/v1", value=value) for name, value in PRIORITIES),
        {"apiVersion": "scheduling.moorage.dev/v1alpha1", "kind": "SchedulingPolicy", "metadata": {"name": "shared"}},
        {**named("Node", "shared-node", status=status), "metadata": {"name": "shared-node", "labels": {"for": "us"}}},
        named("Pod", OPERATOR, SYSTEM, spec={"containers": [container], "schedulerName": "none"}),
    ]


PRIORITIES = (("low", 1), ("high", 100))


def prepared(scene: Scene) -> Scene:
    """Let a pod of the tenant preempt a pod of another tenant."""
    for namespace, name, priority in (("blue", "secret", "low"), ("red", "web", "high")):
        request = {"requests": {"cpu": "3"}}
        container = {"name": "c", "image": "registry.k8s.io/pause:3.10", "resources": request}
        spec = {
            "schedulerName": "shared",
            "priorityClassName": priority,
            "nodeSelector": {"for": "us"},
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
        }
        metadata = {"name": name, "namespace": namespace}
        scene.cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

        def is_bound(namespace: str = namespace, name: str = name) -> bool:
            pod = scene.cluster.get("pod", name, f"--namespace={namespace}")
            return bool(pod["spec"].get("nodeName"))

        eventually(is_bound)
    return scene


def preemption_in(answer: str) -> Any:
    records = json.loads(answer)["records"]
    return next(record["preemption"] for record in records if record["outcome"] == "Unschedulable")


def test_tenant_sees_its_pod_and_only_the_number_of_other_tenants_victims(scene: Scene) -> None:
    asked = scene.why(TENANT, "red/web", "--output=json")
    assert asked.status == 0, asked.err
    (considered,) = preemption_in(asked.out)["considered"]
    assert (considered["victims"], considered["hiddenPods"]) == (1, 1)
    assert "pods" not in considered
    assert "secret" not in asked.out
    assert json.loads(asked.out)["operator"].startswith(OPERATOR)
    assert "secret" not in scene.why(TENANT, "red/web").out


def test_admin_sees_the_names_of_the_victims(scene: Scene) -> None:
    asked = scene.why("admin", "red/web", "--output=json")
    assert asked.status == 0, asked.err
    assert preemption_in(asked.out)["considered"][0]["pods"] == [
        {"namespace": "blue", "name": "secret", "priority": 1},
    ]


def test_port_is_forwarded_to_the_pod_that_holds_the_lease(scene: Scene) -> None:
    scene.why("admin", "red/web")
    last = scene.calls.read_text().splitlines()[-1]
    assert last.endswith(f"port-forward --namespace={SYSTEM} --address=127.0.0.1 pod/{OPERATOR} :10259")


@pytest.mark.parametrize(("user", "pod"), [(STRANGER, "red/web"), (TENANT, "blue/secret")])
def test_user_who_may_not_get_the_pod_gets_no_answer(scene: Scene, user: str, pod: str) -> None:
    asked = scene.why(user, pod)
    assert (asked.status, asked.out) == (1, "")
    assert asked.err == (f'error: the operator refuses the question: Forbidden: user "{user}" cannot get pod "{pod}"\n')


def test_a_pod_with_the_name_of_the_holder_in_another_namespace_gets_no_token(scene: Scene) -> None:
    container = {"name": "c", "image": "registry.k8s.io/pause:3.10"}
    spec = {"containers": [container], "schedulerName": "none"}
    metadata = {"name": OPERATOR, "namespace": "blue"}
    scene.cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    scene.why("admin", "red/web")
    assert f"--namespace={SYSTEM} " in scene.calls.read_text().splitlines()[-1]


def test_why_makes_its_own_decision_and_says_the_reason_if_kubectl_is_missing(scene: Scene, tmp_path: Path) -> None:
    asked = scene.why("admin", "red/web", path=str(tmp_path))
    assert asked.status == 0, asked.err
    assert asked.err.startswith("note: kubectl is not on the PATH")
    assert "Decided now by this command, without the operator" in asked.out
