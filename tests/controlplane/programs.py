"""What each program is told on its command line or in its configuration, and why."""

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
"""For pods, budgets and deletions. Not the node lifecycle: it would evict pods from nodes that have no kubelet."""


def etcd_flags(data: Path, url: str) -> list[str]:
    """Return the flags of a single etcd that keeps `data` in place of durability."""
    return [
        f"--data-dir={data}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls=http://{LOOPBACK}:0",
        "--unsafe-no-fsync",  # the data is thrown away anyway
        "--log-level=warn",
    ]


def apiserver_flags(etcd_url: str, token_file: Path) -> list[str]:
    """Return the flags of an API server over one etcd, with users by token and RBAC."""
    return [
        f"--etcd-servers={etcd_url}",
        f"--advertise-address={LOOPBACK}",
        f"--token-auth-file={token_file}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--allow-privileged",
        # No Endpoints for the API server itself: a loopback address is refused in them.
        "--endpoint-reconciler-type=none",
        # A new node would wait for a kubelet, and a new pod for a controller that makes service accounts.
        "--disable-admission-plugins=TaintNodesByCondition,ServiceAccount",
    ]


def controller_manager_flags(controllers: tuple[str, ...]) -> list[str]:
    """Return the flags of a lone controller manager that runs the named controllers only."""
    return [f"--controllers={','.join(controllers)}", "--leader-elect=false"]


def delegation_flags(kubeconfig: Path) -> list[str]:
    """Return the flags by which a program asks the API server who may read its metrics."""
    return [f"--authentication-kubeconfig={kubeconfig}", f"--authorization-kubeconfig={kubeconfig}"]


def serving_flags(url: str, certificates: Path) -> list[str]:
    """Return the flags of a program that serves HTTPS with a certificate of its own making."""
    return [f"--bind-address={LOOPBACK}", f"--secure-port={url.rpartition(':')[2]}", f"--cert-dir={certificates}"]


def scheduler_configuration(config: Mapping[str, object], kubeconfig: Path) -> dict[str, object]:
    """Return `config` as a whole KubeSchedulerConfiguration of a lone scheduler; what `config` says stands."""
    connection = config.get("clientConnection", {})
    assert isinstance(connection, Mapping)
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        **config,
        "clientConnection": {"kubeconfig": str(kubeconfig), **connection},
    }
