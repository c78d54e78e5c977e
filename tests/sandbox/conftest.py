from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from controlplane.launcher import ControlPlane
from moorage.sandbox.api_server import SandboxServer
from moorage.sandbox.simulation.node_groups import load_node_groups
from sandbox.api_objects import widget_definition
from sandbox.kube_api import DEFINITIONS, KubeApi, connect, until
from sandbox.kubectl_client import NODES, Kubectl

GROUP = "contract.example.dev"
WIDGETS = f"/apis/{GROUP}/v1/widgets"


@pytest.fixture(params=["sandbox", pytest.param("kube-apiserver", marks=pytest.mark.controlplane)])
async def api(request: pytest.FixtureRequest) -> AsyncIterator[KubeApi]:
    """A client of the sandbox or of kube-apiserver, with an empty namespace. Each test runs with both."""
    namespace = f"test-{uuid.uuid4().hex[:8]}"
    if request.param == "sandbox":
        async with SandboxServer(kubelet=False) as server, connect(server.url, server.token, namespace) as found:
            yield found
    else:
        plane: ControlPlane = request.getfixturevalue("control_plane")
        async with connect(plane.server, plane.token, namespace, str(plane.ca_file)) as found:
            yield found


@pytest.fixture
async def widgets(api: KubeApi) -> AsyncIterator[str]:
    """The path of an empty collection of a custom kind. In kube-apiserver, the kind may exist from an earlier test."""
    created = await api.create(DEFINITIONS, widget_definition(GROUP))
    assert created.code in {201, 409}, created.message

    async def served() -> bool:
        discovered = await api.get(f"/apis/{GROUP}/v1")
        return discovered.code == 200 and (await api.get(WIDGETS)).code == 200

    await until(served)
    yield WIDGETS
    await api.delete(WIDGETS)


@pytest.fixture
async def sandbox() -> AsyncIterator[SandboxServer]:
    """A sandbox with its controllers and no nodes."""
    async with SandboxServer() as server:
        yield server


@pytest.fixture
async def client(sandbox: SandboxServer) -> AsyncIterator[KubeApi]:
    """A client of the sandbox, in the default namespace."""
    async with connect(sandbox.url, sandbox.token, "default") as found:
        yield found


@pytest.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    crds = [widget_definition("example.dev")]
    async with SandboxServer(node_groups=load_node_groups(NODES), crds=crds) as server:
        yield Kubectl(tmp_path, server)
