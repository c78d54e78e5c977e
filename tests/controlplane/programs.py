"""The flags and configuration of each program, with the reasons."""

from collections.abc import Mapping
from pathlib import Path

from controlplane.ports import LOOPBACK

WORKLOAD_CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "job-controller",
    "disruption-controller",
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
)
"""Controllers for pods, budgets and deletions. Without kubelets, the node lifecycle controller would evict pods."""


def etcd_flags(data: Path, url: str) -> list[str]:
    """Return the flags of a single etcd with its files in `data`. The flags prefer speed to durability."""
    return [
        f"--data-dir={data}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls=http://{LOOPBACK}:0",
        "--unsafe-no-fsync",  # Tests do not need the data after a crash of the machine.
        "--log-level=warn",
    ]


def apiserver_flags(etcd_url: str, token_file: Path) -> list[str]:
    """Return the flags of an API server with one etcd, token authentication and RBAC."""
    return [
        f"--etcd-servers={etcd_url}",
        f"--advertise-address={LOOPBACK}",
        f"--token-auth-file={token_file}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--allow-privileged",
        # The API server creates no Endpoints for itself, because Endpoints must not have a loopback address.
        "--endpoint-reconciler-type=none",
        # With these plugins, a new node would wait for a kubelet, and a new pod for the service account controller.
        "--disable-admission-plugins=TaintNodesByCondition,ServiceAccount",
    ]


def controller_manager_flags(controllers: tuple[str, ...]) -> list[str]:
    """Return the flags of a single controller manager with only the named controllers."""
    return [f"--controllers={','.join(controllers)}", "--leader-elect=false"]


def delegation_flags(kubeconfig: Path) -> list[str]:
    """Return the flags for a program that lets the API server authorize readers of its metrics."""
    return [f"--authentication-kubeconfig={kubeconfig}", f"--authorization-kubeconfig={kubeconfig}"]


def serving_flags(url: str, certificates: Path) -> list[str]:
    """Return the flags of a program that serves HTTPS with a self-signed certificate."""
    return [f"--bind-address={LOOPBACK}", f"--secure-port={url.rpartition(':')[2]}", f"--cert-dir={certificates}"]


def scheduler_configuration(config: Mapping[str, object], kubeconfig: Path) -> dict[str, object]:
    """Return a complete KubeSchedulerConfiguration for a single scheduler. `config` overrides the defaults."""
    connection = config.get("clientConnection", {})
    assert isinstance(connection, Mapping)
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        **config,
        "clientConnection": {"kubeconfig": str(kubeconfig), **connection},
    }
