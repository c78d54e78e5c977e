"""The label keys, domains and values that anonymizing keeps, because Kubernetes, clouds or device vendors define them.

A key of a known domain stays. Its values stay only if the vendor defines them, such as zones, instance types and GPU
models. Values that users choose are replaced, such as the values of `app.kubernetes.io/name`.
"""

from __future__ import annotations

from moorage.model.device_class import IMPLICIT_PREFIX
from moorage.plugins.own.lifecycle import DEFAULT_SOURCES
from moorage.plugins.own.serverless_nodes import SERVERLESS_LABELS

DEVICE_CLASS_PREFIX = IMPLICIT_PREFIX
_DOMAINS = frozenset(
    {
        "kubernetes.io", "k8s.io", "karpenter.sh", "karpenter.k8s.aws", "eks.amazonaws.com", "vpc.amazonaws.com",
        "aws.amazon.com", "csi.aws.com", "alpha.eksctl.io", "cloud.google.com", "gke.io", "google.com", "azure.com",
        "nvidia.com", "amd.com", "intel.com", "habana.ai", "xilinx.com", "openshift.io", "virtual-kubelet.io",
        "portworx.com", "openstack.org", "scheduling.moorage.dev",
    }
)  # fmt: skip
"""Anonymizing keeps these domains and their subdomains."""
_VALUE_PREFIXES = (
    "topology.kubernetes.io/", "failure-domain.beta.kubernetes.io/", "beta.kubernetes.io/", "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/", "feature.node.kubernetes.io/", "karpenter.k8s.aws/instance-",
    "topology.ebs.csi.aws.com/", "topology.gke.io/", "topology.disk.csi.azure.com/", "nvidia.com/", "amd.com/",
    "intel.com/", "cloud.google.com/gke-accelerator", "cloud.google.com/machine-family",
    "kubernetes.io/os", "kubernetes.io/arch", "virtual-kubelet.io/",
)  # fmt: skip
_VALUE_KEYS = frozenset({source.key for source in DEFAULT_SOURCES} | {"eks.amazonaws.com/compute-type"})
_UNPREFIXED_KEYS = frozenset({"type", "lifecycle-preference", "metadata.name"})
"""Keys without a domain that plugins read."""
_LIFECYCLE_WORDS = frozenset({"spot", "on-demand", "reserved"})
_ROLES = ("node-role.kubernetes.io/", "node-restriction.kubernetes.io/")
_KNOWN_ROLES = frozenset({"control-plane", "master", "worker"})


def is_known_domain(domain: str) -> bool:
    """Return whether a domain, such as the prefix of a label key, belongs to Kubernetes or a vendor."""
    parts = domain.split(".")
    return any(".".join(parts[start:]) in _DOMAINS for start in range(len(parts)))


def is_known_key(key: str) -> bool:
    """Return whether anonymizing keeps a key."""
    domain, slash, _ = key.rpartition("/")
    return is_known_domain(domain) if slash else key in _UNPREFIXED_KEYS


def role_prefix(key: str) -> str:
    """Return the domain of a key whose name part a user chose, with the slash; empty for other keys."""
    for prefix in _ROLES:
        if key.startswith(prefix) and key.removeprefix(prefix) not in _KNOWN_ROLES:
            return prefix
    return ""


def keeps_values(key: str) -> bool:
    """Return whether anonymizing keeps all values of a key."""
    return key.startswith(_VALUE_PREFIXES) or key in _VALUE_KEYS


def is_plain_value(key: str, value: str) -> bool:
    """Return whether anonymizing keeps a value because it is true, false or a word that a plugin knows."""
    if key == "lifecycle-preference":
        return value.lower() in _LIFECYCLE_WORDS
    return value in {"true", "false"} or SERVERLESS_LABELS.get(key) == value
