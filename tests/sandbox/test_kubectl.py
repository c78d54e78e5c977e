"""kubectl commands against the sandbox, and their output."""

from __future__ import annotations

import asyncio
import json

from sandbox.api_objects import widget_definition
from sandbox.kube_api import until
from sandbox.kubectl_client import POD, WIDGET, Kubectl

CREATE_LIST_AND_WATCH = 3
"""The number of requests for the collection of pods before the watch runs."""


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


async def test_get_prints_the_printer_columns_of_a_custom_kind(kubectl: Kubectl) -> None:
    await kubectl.apply(WIDGET % 7)
    lines = [line.split() for line in (await kubectl("get", "widgets", "-o", "wide")).splitlines()]
    assert lines == [["NAME", "MODE", "READY", "WEIGHT"], ["w", "Fast", "7"]]


async def test_describe_shows_the_events_of_a_pod(kubectl: Kubectl) -> None:
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


async def test_describe_sums_the_requests_of_the_pods_on_a_node(kubectl: Kubectl) -> None:
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


async def test_label_annotate_cordon_and_taint_change_a_node(kubectl: Kubectl) -> None:
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


async def test_wait_ends_if_a_custom_object_gets_the_condition(kubectl: Kubectl) -> None:
    await kubectl.apply(WIDGET % 1)
    waiting = asyncio.create_task(kubectl("wait", "--for=condition=Ready", "widget/w", "--timeout=60s"))
    patch = '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}'
    await kubectl("patch", "widget", "w", "--subresource=status", "--type=merge", f"--patch={patch}")
    assert await waiting == "widget.example.dev/w condition met\n"


async def test_watch_prints_changes(kubectl: Kubectl) -> None:
    await kubectl.apply(POD)
    watching = asyncio.create_task(kubectl("get", "pods", "--watch", "--request-timeout=5s"))

    async def watched() -> bool:
        paths = [request.path for request in kubectl.server.requests]
        return paths.count("/api/v1/namespaces/default/pods") == CREATE_LIST_AND_WATCH

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


async def test_deletion_of_a_definition_deletes_the_objects_of_its_kind(kubectl: Kubectl) -> None:
    definition = json.dumps(widget_definition("other.dev"))
    await kubectl.apply(definition)
    await kubectl("wait", "--for=condition=Established", "crd/widgets.other.dev", "--timeout=60s")
    await kubectl.apply((WIDGET % 1).replace("example.dev", "other.dev"))
    await kubectl("delete", "crd", "widgets.other.dev")
    assert "could not find the requested resource" in await kubectl("get", "widgets.v1.other.dev", fails=True)


async def test_api_resources_lists_short_names(kubectl: Kubectl) -> None:
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
    await kubectl("wait", "--for=jsonpath={.status.currentHealthy}=1", "pdb/web", "--timeout=60s")
    refused = await kubectl("drain", "m5-0", "--force", "--timeout=3s", fails=True)
    assert "Cannot evict pod as it would violate the pod's disruption budget." in refused
    await kubectl("delete", "pdb", "web")
    assert "node/m5-0 drained" in await kubectl("drain", "m5-0", "--force", "--timeout=60s")
    assert "NotFound" in await kubectl("get", "pod", "web", fails=True)


async def test_create_accepts_a_list(kubectl: Kubectl) -> None:
    items = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} for name in ("a", "b")]
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    assert await kubectl("create", "-f", "-", stdin=listed) == "configmap/a created\nconfigmap/b created\n"


async def test_error_for_an_unknown_protobuf_kind_names_a_command_that_works(kubectl: Kubectl) -> None:
    create = ("create", "deployment", "shop", "--image=nginx")
    assert "--dry-run=client -o yaml | kubectl apply -f -" in await kubectl(*create, fails=True)
    manifest = await kubectl(*create, "--dry-run=client", "-o", "yaml")
    assert await kubectl.apply(manifest) == "deployment.apps/shop created\n"
