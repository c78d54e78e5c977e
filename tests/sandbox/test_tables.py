"""Tables for kubectl get. Each test runs on the sandbox and on kube-apiserver."""

from __future__ import annotations

from sandbox.api_objects import pod, widget
from sandbox.kube_api import TABLE, KubeApi


async def test_table_of_pods_has_the_columns_of_kubectl(api: KubeApi) -> None:
    await api.create(api.pods, pod("p", nodeName="n1"))
    table = (await api.call("GET", api.pods, accept=TABLE)).body
    names = [column["name"] for column in table["columnDefinitions"]]
    assert names == ["Name", "Ready", "Status", "Restarts", "Age", "IP", "Node", "Nominated Node", "Readiness Gates"]
    [row] = table["rows"]
    assert row["cells"][:4] == ["p", "0/1", "Pending", "0"]
    assert row["cells"][5:] == ["<none>", "n1", "<none>", "<none>"]
    assert row["object"]["kind"] == "PartialObjectMetadata"


async def test_table_of_a_custom_kind_has_its_printer_columns(api: KubeApi, widgets: str) -> None:
    await api.create(widgets, widget(widgets, "w", weight=3))
    table = (await api.call("GET", widgets, accept=TABLE)).body
    columns = [(column["name"], column["type"], column["priority"]) for column in table["columnDefinitions"]]
    assert columns == [("Name", "string", 0), ("Mode", "string", 0), ("Ready", "string", 0), ("Weight", "integer", 1)]
    [row] = table["rows"]
    assert row["cells"] == ["w", "Fast", None, 3] or row["cells"] == ["w", "Fast", "", 3]
