"""kubectl commands against the sandbox, and their output."""

from __future__ import annotations

import asyncio
import json
import os
import sysconfig
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moorage.sandbox.api_server import SandboxServer
from moorage.sandbox.simulation.node_groups import load_node_groups
from sandbox.api_objects import binding, widget_definition
from sandbox.kube_api import connect, until

LIST_AND_WATCH = 3  # and the creation before them
KUBECTL = Path(sysconfig.get_path("scripts")) / "kubectl"
NODES = """
nodeGroups:
  - {name: m5, count: 2, instanceType: m5.xlarge, cpu: "4", memory: 16Gi}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  containers: [{name: main, image: "nginx:1", resources: {requests: {cpu: 100m}}}]
"""
WIDGET = """
apiVersion: example.dev/v1
kind: Widget
metadata: {name: w}
spec: {weight: %d}
"""


class Kubectl:
    """Runs kubectl with its own home directory."""

    def __init__(self, home: Path, server: SandboxServer) -> None:
        self.server = server
        self._environment = {**os.environ, "HOME": str(home), "KUBECONFIG": str(home / "config")}
        (home / "config").write_text(server.kubeconfig())

    async def __call__(self, *arguments: str, stdin: str = "", fails: bool = False, **environment: str) -> str:
        process = await asyncio.create_subprocess_exec(
            KUBECTL,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=self._environment | environment,
        )
        output, _ = await process.communicate(stdin.encode())
        text = output.decode()
        assert bool(process.returncode) is fails, text
        return text

    async def apply(self, manifest: str, *arguments: str, fails: bool = False) -> str:
        return await self("apply", "-f", "-", *arguments, stdin=manifest, fails=fails)

    async def bind(self, pod: str, node: str) -> None:
        """Bind a pod, and wait until it runs."""
        async with connect(self.server.url, self.server.token, "default") as api:
            await api.create(f"{api.pods}/{pod}/binding", binding(pod, node))
        await self("wait", "--for=condition=Ready", f"pod/{pod}", "--timeout=10s")


@pytest.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    crds = [widget_definition("example.dev")]
    async with SandboxServer(node_groups=load_node_groups(NODES), crds=crds) as server:
        yield Kubectl(tmp_path, server)


async def test_apply_reports_created_unchanged_and_configured(kubectl: Kubectl) -> None:
    assert await kubectl.apply(WIDGET % 1) == "widget.example.dev/w created\n"
    assert await kubectl.apply(WIDGET % 1) == "widget.example.dev/w unchanged\n"
    assert await kubectl.apply(WIDGET % 2) == "widget.example.dev/w configured\n"
    assert await kubectl("get", "wd", "w", "-o", "jsonpath={.spec.weight}") == "2"


async def test_apply_of_a_pod_is_idempotent(kubectl: Kubectl) -> None:
    assert await kubectl.apply(POD) == "pod/web created\n"
    assert await kubectl.apply(POD) == "pod/web unchanged\n"
    changed = POD.replace("app: web", "app: shop")
    assert await kubectl.apply(changed) == "pod/web configured\n"
    assert await kubectl("get", "pods", "-l", "app=shop", "-o", "name") == "pod/web\n"


async def test_apply_refuses_an_unknown_field_with_its_path(kubectl: Kubectl) -> None:
    refused = await kubectl.apply(WIDGET.replace("weight", "wieght") % 1, fails=True)
    assert 'strict decoding error: unknown field "spec.wieght"' in refused


async def test_apply_shows_why_an_object_is_invalid(kubectl: Kubectl) -> None:
    refused = await kubectl.apply(WIDGET % 101, fails=True)
    assert refused.strip() == (
        'The Widget "w" is invalid: spec.weight: Invalid value: 101: '
        "spec.weight in body should be less than or equal to 100"
    )


async def test_server_side_apply_reports_conflicts_and_can_force_them(kubectl: Kubectl) -> None:
    assert await kubectl.apply(WIDGET % 1, "--server-side") == "widget.example.dev/w serverside-applied\n"
    refused = await kubectl.apply(WIDGET % 2, "--server-side", "--field-manager=other", fails=True)
    assert 'conflict with "kubectl": .spec.weight' in refused
    await kubectl.apply(WIDGET % 2, "--server-side", "--field-manager=other", "--force-conflicts")
    assert await kubectl("get", "wd", "w", "-o", "jsonpath={.spec.weight}") == "2"


async def test_server_side_apply_takes_over_a_pod_of_client_side_apply(kubectl: Kubectl) -> None:
    await kubectl.apply(POD)
    assert await kubectl.apply(POD, "--server-side") == "pod/web serverside-applied\n"
    assert await kubectl.apply(POD, "--server-side") == "pod/web serverside-applied\n"


async def test_get_prints_the_columns_of_pods_and_nodes(kubectl: Kubectl) -> None:
    await kubectl.apply(POD)
    await kubectl.bind("web", "m5-1")
    lines = (await kubectl("get", "pods", "-o", "wide")).splitlines()
    assert lines[0].split()[:7] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE"]
    cells = lines[1].split()
    assert (cells[:4], cells[6]) == (["web", "1/1", "Running", "0"], "m5-1")
    nodes = (await kubectl("get", "nodes")).splitlines()
    assert nodes[0].split() == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    assert [line.split()[:2] for line in nodes[1:]] == [["m5-0", "Ready"], ["m5-1", "Ready"]]


async def test_get_prints_a_custom_kinds_columns(kubectl: Kubectl) -> None:
    await kubectl.apply(WIDGET % 7)
    lines = [line.split() for line in (await kubectl("get", "widgets", "-o", "wide")).splitlines()]
    assert lines == [["NAME", "MODE", "READY", "WEIGHT"], ["w", "Fast", "7"]]


async def test_describe_shows_a_pods_events(kubectl: Kubectl) -> None:
    await kubectl.apply(POD)
    uid = await kubectl("get", "pod", "web", "-o", "jsonpath={.metadata.uid}")
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "web.1", "namespace": "default"},
        "eventTime": "2026-11-30T07:00:00.000000Z",
        "reportingController": "spot-first",
        "reportingInstance": "spot-first-1",
        "action": "Binding",
        "reason": "Scheduled",
        "type": "Normal",
        "note": "Successfully assigned default/web to m5-1",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "name": "web", "namespace": "default", "uid": uid},
    }
    await kubectl("create", "-f", "-", stdin=json.dumps(event))
    described = await kubectl("describe", "pod", "web")
    assert "node.kubernetes.io/not-ready:NoExecute op=Exists for 300s" in described
    assert "spot-first  Successfully assigned default/web to m5-1" in described
    events = (await kubectl("get", "events")).splitlines()
    assert events[0].split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert events[1].split()[1:4] == ["Normal", "Scheduled", "pod/web"]


async def test_describe_sums_the_requests_of_a_nodes_pods(kubectl: Kubectl) -> None:
    await kubectl.apply(POD)
    await kubectl.bind("web", "m5-1")
    described = await kubectl("describe", "node", "m5-1")
    assert "default                     web     100m (2%)" in described
    assert "cpu:                3920m" in described


async def test_explain_shows_fields_and_their_descriptions(kubectl: Kubectl) -> None:
    assert "KIND:       Pod" in await kubectl("explain", "pods.spec.tolerations")
    explained = await kubectl("explain", "widgets.spec")
    assert "mode\t<string>" in explained
    assert "enum: Fast, Slow" in explained
    assert "KIND:       CustomResourceDefinition" in await kubectl("explain", "crd.spec.versions.schema")


async def test_edit_saves_what_the_editor_wrote(kubectl: Kubectl, tmp_path: Path) -> None:
    await kubectl.apply(WIDGET % 1)
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\nsed -i "s/weight: 1/weight: 33/" "$1"\n')
    editor.chmod(0o700)
    assert await kubectl("edit", "widget", "w", EDITOR=str(editor)) == "widget.example.dev/w edited\n"
    assert await kubectl("get", "wd", "w", "-o", "jsonpath={.spec.weight}") == "33"


@pytest.mark.parametrize(
    ("kind", "patch"),
    [("merge", '{"spec":{"weight":5}}'), ("json", '[{"op":"replace","path":"/spec/weight","value":5}]')],
)
async def test_patch_of_a_custom_kind(kubectl: Kubectl, kind: str, patch: str) -> None:
    await kubectl.apply(WIDGET % 1)
    await kubectl("patch", "widget", "w", f"--type={kind}", f"--patch={patch}")
    assert await kubectl("get", "wd", "w", "-o", "jsonpath={.spec.weight}") == "5"


async def test_label_annotate_cordon_and_taint(kubectl: Kubectl) -> None:
    await kubectl("label", "node", "m5-0", "team=ml")
    await kubectl("annotate", "node", "m5-0", "note=x")
    await kubectl("taint", "node", "m5-0", "only=ml:NoSchedule")
    await kubectl("cordon", "m5-0")
    node = json.loads(await kubectl("get", "node", "m5-0", "-o", "json"))
    assert node["metadata"]["labels"]["team"] == "ml"
    taints = [(taint["key"], taint["effect"]) for taint in node["spec"]["taints"]]
    assert ("only", "NoSchedule") in taints
    assert "Ready,SchedulingDisabled" in await kubectl("get", "node", "m5-0")


async def test_delete_waits_until_the_pod_is_gone(kubectl: Kubectl) -> None:
    await kubectl.apply(POD)
    await kubectl.bind("web", "m5-0")
    assert 'pod "web" deleted' in await kubectl("delete", "pod", "web")
    assert "NotFound" in await kubectl("get", "pod", "web", fails=True)


async def test_wait_follows_a_custom_kinds_condition(kubectl: Kubectl) -> None:
    await kubectl.apply(WIDGET % 1)
    waiting = asyncio.create_task(kubectl("wait", "--for=condition=Ready", "widget/w", "--timeout=10s"))
    patch = '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}'
    await kubectl("patch", "widget", "w", "--subresource=status", "--type=merge", f"--patch={patch}")
    assert await waiting == "widget.example.dev/w condition met\n"


async def test_watch_prints_changes(kubectl: Kubectl) -> None:
    await kubectl.apply(POD)
    watching = asyncio.create_task(kubectl("get", "pods", "--watch", "--request-timeout=2s"))

    async def watched() -> bool:
        paths = [request.path for request in kubectl.server.requests]
        return paths.count("/api/v1/namespaces/default/pods") == LIST_AND_WATCH

    await until(watched)
    await kubectl.bind("web", "m5-0")
    states = [line.split()[2] for line in (await watching).splitlines()]
    assert states[:2] == ["STATUS", "Pending"]
    assert states[-1] == "Running"


async def test_deletion_of_a_namespace_deletes_its_objects(kubectl: Kubectl) -> None:
    await kubectl.apply("{apiVersion: v1, kind: Namespace, metadata: {name: team}}")
    await kubectl.apply(POD, "--namespace=team")
    assert 'namespace "team" deleted' in await kubectl("delete", "namespace", "team")
    assert await kubectl("get", "pods", "--all-namespaces", "-o", "name") == ""


async def test_deletion_of_a_definition_deletes_its_objects(kubectl: Kubectl) -> None:
    definition = json.dumps(widget_definition("other.dev"))
    await kubectl.apply(definition)
    await kubectl("wait", "--for=condition=Established", "crd/widgets.other.dev", "--timeout=10s")
    await kubectl.apply((WIDGET % 1).replace("example.dev", "other.dev"))
    await kubectl("delete", "crd", "widgets.other.dev")
    assert "could not find the requested resource" in await kubectl("get", "widgets.v1.other.dev", fails=True)


async def test_resources_are_listed_with_their_short_names(kubectl: Kubectl) -> None:
    lines = [line.split() for line in (await kubectl("api-resources", "--no-headers")).splitlines()]
    assert ["widgets", "wd", "example.dev/v1", "false", "Widget"] in lines
    assert ["pods", "po", "v1", "true", "Pod"] in lines


async def test_commands_that_send_protobuf_succeed(kubectl: Kubectl) -> None:
    assert await kubectl("create", "namespace", "team") == "namespace/team created\n"
    assert await kubectl("auth", "can-i", "create", "pods/binding") == "yes\n"
    await kubectl("create", "configmap", "settings", "--from-literal=a=b", "--namespace=team")
    assert await kubectl("get", "cm", "settings", "-n", "team", "-o", "jsonpath={.data}") == '{"a":"b"}'


async def test_drain_evicts_pods_and_respects_budgets(kubectl: Kubectl) -> None:
    await kubectl.apply(POD)
    await kubectl.bind("web", "m5-0")
    budget = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
"""
    await kubectl.apply(budget)
    await kubectl("wait", "--for=jsonpath={.status.currentHealthy}=1", "pdb/web", "--timeout=10s")
    refused = await kubectl("drain", "m5-0", "--force", "--timeout=1s", fails=True)
    assert "Cannot evict pod as it would violate the pod's disruption budget." in refused
    await kubectl("delete", "pdb", "web")
    assert "node/m5-0 drained" in await kubectl("drain", "m5-0", "--force", "--timeout=20s")
    assert "NotFound" in await kubectl("get", "pod", "web", fails=True)


async def test_create_accepts_a_list(kubectl: Kubectl) -> None:
    items = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} for name in ("a", "b")]
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    assert await kubectl("create", "-f", "-", stdin=listed) == "configmap/a created\nconfigmap/b created\n"


async def test_unknown_protobuf_kind_is_refused_with_an_alternative_command(kubectl: Kubectl) -> None:
    create = ("create", "deployment", "shop", "--image=nginx")
    assert "--dry-run=client -o yaml | kubectl apply -f -" in await kubectl(*create, fails=True)
    manifest = await kubectl(*create, "--dry-run=client", "-o", "yaml")
    assert await kubectl.apply(manifest) == "deployment.apps/shop created\n"
