"""The launcher with the real programs."""

import json
from collections.abc import Iterator

import pytest

from controlplane.build import kubernetes_version
from controlplane.component import ControlPlaneError
from controlplane.launcher import ControlPlane
from controlplane.objects import (
    NODES,
    PODS,
    api_session,
    create_nodes,
    create_objects,
    pause_pod,
    simulated_node,
    simulated_nodes,
)

pytestmark = pytest.mark.controlplane

SOON = "--timeout=30s"


@pytest.fixture(scope="module")
def own_control_plane() -> Iterator[ControlPlane]:
    """A control plane for tests that restart its API server."""
    with ControlPlane() as control_plane:
        yield control_plane


def test_client_and_server_have_the_pinned_version(control_plane: ControlPlane) -> None:
    versions = json.loads(control_plane.kubectl("version", "-o", "json").stdout)

    assert versions["serverVersion"]["gitVersion"] == kubernetes_version()
    assert versions["clientVersion"]["gitVersion"] == kubernetes_version()


def test_rbac_limits_users_that_are_not_admins(control_plane: ControlPlane) -> None:
    admin = control_plane.kubectl("auth", "can-i", "delete", "nodes")
    scheduler = control_plane.kubectl("auth", "can-i", "create", "nodes", user="system:kube-scheduler", check=False)

    assert admin.stdout.strip() == "yes"
    assert scheduler.stdout.strip() == "no"


def test_service_accounts_get_tokens(control_plane: ControlPlane) -> None:
    control_plane.kubectl("create", "serviceaccount", "robot")
    token = control_plane.kubectl("create", "token", "robot").stdout.strip()

    answer = control_plane.kubectl("auth", "whoami", "-o", "json", f"--token={token}")

    assert "system:serviceaccount:default:robot" in answer.stdout


def test_the_error_of_a_failed_kubectl_has_its_output(control_plane: ControlPlane) -> None:
    with pytest.raises(ControlPlaneError, match=r'kubectl get pod none: .*pods "none" not found'):
        control_plane.kubectl("get", "pod", "none")


async def test_the_error_of_a_refused_object_has_the_servers_message(empty_control_plane: ControlPlane) -> None:
    with pytest.raises(ControlPlaneError, match='/api/v1/nodes: 409: nodes "twin" already exists'):
        await create_nodes(empty_control_plane, [simulated_node("twin"), simulated_node("twin")])


async def test_nodes_keep_their_status_and_get_no_taint(empty_control_plane: ControlPlane) -> None:
    gpus = simulated_node("node-gpu", labels={"pool": "gpu"}, allocatable={"nvidia.com/gpu": "4"})

    await create_nodes(empty_control_plane, [gpus, *simulated_nodes(200)])

    async with api_session(empty_control_plane) as session, session.get(NODES) as response:
        nodes = {item["metadata"]["name"]: item for item in (await response.json())["items"]}
    assert len(nodes) == 201
    assert nodes["node-gpu"]["status"]["allocatable"]["nvidia.com/gpu"] == "4"
    assert nodes["node-gpu"]["metadata"]["labels"]["pool"] == "gpu"
    assert nodes["node-00004"]["metadata"]["labels"]["topology.kubernetes.io/zone"] == "zone-b"
    assert not any("taints" in node["spec"] for node in nodes.values())


class TestSchedulerAndControllers:
    """Programs that tests start and stop."""

    async def test_kube_scheduler_binds_a_pod_to_the_node_that_has_enough_resources(
        self, empty_control_plane: ControlPlane
    ) -> None:
        small, large = simulated_node("small", allocatable={"cpu": "1"}), simulated_node("large")
        await create_nodes(empty_control_plane, [small, large])
        await create_objects(empty_control_plane, PODS, [pause_pod("big", cpu="8")])

        with empty_control_plane.start_scheduler():
            empty_control_plane.kubectl("wait", "pod/big", "--for=jsonpath={.spec.nodeName}=large", SOON)

    def test_kube_scheduler_serves_client_metrics_to_the_admin(self, control_plane: ControlPlane) -> None:
        with control_plane.start_scheduler({"clientConnection": {"qps": 5000, "burst": 5000}}) as scheduler:
            assert "rest_client_request_duration_seconds" in scheduler.endpoint.read("/metrics")

    def test_controllers_turn_a_deployment_into_pods(self, empty_control_plane: ControlPlane) -> None:
        with empty_control_plane.start_controller_manager():
            empty_control_plane.kubectl("create", "deployment", "web", "--image=pause", "--replicas=3")
            empty_control_plane.kubectl("wait", "deployment/web", "--for=jsonpath={.status.replicas}=3", SOON)
            empty_control_plane.kubectl("delete", "deployment", "web", "--cascade=foreground", SOON)

        assert empty_control_plane.kubectl("get", "pods", "-o", "name").stdout == ""


class TestStops:
    """Restarts of the API server."""

    def test_an_added_user_works_after_the_next_start_of_the_api_server(self, own_control_plane: ControlPlane) -> None:
        own_control_plane.add_user("jane", "developers", "readers")
        before = own_control_plane.kubectl("auth", "whoami", "-o", "json", user="jane", check=False)
        own_control_plane.stop_apiserver()
        own_control_plane.start_apiserver()
        after = own_control_plane.kubectl("auth", "whoami", "-o", "json", user="jane")

        identity = json.loads(after.stdout)["status"]["userInfo"]
        assert before.returncode != 0
        assert identity["username"] == "jane"
        assert {"developers", "readers"} <= set(identity["groups"])

    def test_a_killed_api_server_restarts_with_its_data(self, own_control_plane: ControlPlane) -> None:
        own_control_plane.kubectl("create", "namespace", "kept")
        own_control_plane.apiserver.kill()
        without = own_control_plane.kubectl("get", "namespace", "kept", check=False)
        own_control_plane.start_apiserver()
        again = own_control_plane.kubectl("get", "namespace", "kept", "-o", "name")

        assert "refused" in without.stderr
        assert again.stdout.strip() == "namespace/kept"

    def test_a_wrong_flag_causes_an_error_with_the_output_and_leaves_no_program_running(self) -> None:
        control_plane = ControlPlane(more_apiserver_flags=["--no-such-flag"])

        with pytest.raises(ControlPlaneError, match="unknown flag: --no-such-flag"), control_plane:
            pass
        assert not control_plane.etcd.running
        assert not control_plane.directory.exists()
