"""Replaces each name of a cluster by a token. Equal names get equal tokens, and tokens sort like the names.

Callers make two passes over the same objects. In the first pass, `Names` records the names and returns them unchanged.
After `freeze`, in the second pass, it returns tokens such as `node-07`. Tokens of one category sort like the names,
because the scheduler orders nodes and candidates for preemption by name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import product

from moorage.inventory.known_names import (
    DEVICE_CLASS_PREFIX,
    is_known_domain,
    is_known_key,
    is_plain_value,
    keeps_values,
    role_prefix,
)
from moorage.model.volumes.csi_translation import ebs_volume_id

NODE_KEYS = frozenset({"metadata.name", "kubernetes.io/hostname"})
NAMESPACE_KEY = "kubernetes.io/metadata.name"
POD_KEY = "statefulset.kubernetes.io/pod-name"
DEFAULT_SCHEDULER = "default-scheduler"
_SYSTEM_NAMESPACES = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})
_UNSPECIFIED_GCE_PROJECT = "projects/UNSPECIFIED/zones/"
_VALUE = "value"


class Names:
    """The names of one cluster, by category."""

    def __init__(self) -> None:
        """Start the first pass."""
        self._found: defaultdict[str, set[str]] = defaultdict(set)
        self._tokens: dict[str, dict[str, str]] | None = None
        self._numeric_keys: set[str] = set()
        self._kept_value_keys: set[str] = set()
        self._ephemeral: dict[tuple[str, str], tuple[str, str]] = {}

    def freeze(self) -> None:
        """End the first pass: choose a token for each name."""
        self._tokens = {
            category: _value_tokens(found) if category == _VALUE else _ranked(category, found)
            for category, found in self._found.items()
        }

    def token(self, category: str, name: str) -> str:
        """Return the token of a name; an empty name stays empty."""
        if not name:
            return name
        if self._tokens is None:
            self._found[category].add(name)
            return name
        return self._tokens[category][name]

    def node(self, name: str) -> str:
        """Return the token of a node's name."""
        return self.token("node", name)

    def pod(self, name: str) -> str:
        """Return the token of a pod's name."""
        return self.token("pod", name)

    def namespace(self, name: str) -> str:
        """Return the token of a namespace; the namespaces of Kubernetes stay."""
        return name if name in _SYSTEM_NAMESPACES else self.token("namespace", name)

    def scheduler(self, name: str) -> str:
        """Return the token of a schedulerName or a policy's name."""
        return name if name == DEFAULT_SCHEDULER else self.token("policy", name)

    def storage_class(self, name: str) -> str:
        """Return the token of a StorageClass or a VolumeAttributesClass."""
        return self.token("class", name)

    def persistent_volume(self, name: str) -> str:
        """Return the token of a PersistentVolume."""
        return self.token("volume", name)

    def ephemeral_volume(self, namespace: str, pod: str, volume: str) -> None:
        """Record that a pod has an ephemeral volume. The name of its claim is made from the pod and the volume."""
        self._ephemeral[namespace, f"{pod}-{volume}"] = pod, volume

    def claim(self, namespace: str, name: str) -> str:
        """Return the token of a PersistentVolumeClaim."""
        owner = self._ephemeral.get((namespace, name))
        if owner is None or self._tokens is None:
            return self.token("claim", name)
        return f"{self.pod(owner[0])}-{self.token('podvolume', owner[1])}"

    def workload(self, name: str) -> str:
        """Return the token of a controller's name."""
        return self.token("workload", name)

    def uid(self, name: str) -> str:
        """Return the token of a uid."""
        return self.token("uid", name)

    def domain(self, name: str) -> str:
        """Return the token of a domain, such as the prefix of a label key; the domains of vendors stay."""
        return name if is_known_domain(name) else f"{self.token('domain', name)}.example"

    def driver(self, name: str) -> str:
        """Return the token of a CSI driver or a provisioner, such as `ebs.csi.aws.com` or `kubernetes.io/aws-ebs`."""
        return self.key(name) if "/" in name else self.domain(name)

    def key(self, name: str) -> str:
        """Return the token of a label key, taint key or other qualified name; well-known keys stay."""
        if name.startswith(DEVICE_CLASS_PREFIX):
            return DEVICE_CLASS_PREFIX + self.token("deviceclass", name.removeprefix(DEVICE_CLASS_PREFIX))
        prefix = role_prefix(name)
        if prefix:
            return prefix + self.token("role", name.removeprefix(prefix))
        if not name or is_known_key(name):
            return name
        domain, slash, local = name.rpartition("/")
        return f"{self.domain(domain)}/{self.token('key', local)}" if slash else self.token("key", local)

    def resource(self, name: str) -> str:
        """Return the token of a resource; Kubernetes' own resources, such as cpu, stay."""
        return self.key(name) if "/" in name else name

    def value(self, key: str, value: str) -> str:
        """Return the token of the value of a label or taint with this key."""
        if key in self._numeric_keys and _is_number(value):
            return value
        if key in NODE_KEYS:
            return self.node(value)
        if key == NAMESPACE_KEY:
            return self.namespace(value)
        if key == POD_KEY:
            return self.pod(value)
        stays = keeps_values(key) or key in self._kept_value_keys or is_plain_value(key, value)
        return value if stays else self.token(_VALUE, value)

    def image(self, reference: str) -> str:
        """Return the token of an image. A reference without a tag is equal to the reference with the tag `latest`."""
        if not reference:
            return reference
        has_tag = reference.rfind(":") > reference.rfind("/")
        return self.token("image", reference if has_tag else f"{reference}:latest") + (
            ":latest" if self._tokens else ""
        )

    def disk(self, handle: str) -> str:
        """Return the token of a disk.

        Keep the form of the reference, because in-tree volumes are translated to CSI by their form.
        """
        if handle.startswith("aws://"):
            volume = ebs_volume_id(handle)
            return handle.removesuffix(volume) + self.token("disk", volume)
        if handle.startswith(_UNSPECIFIED_GCE_PROJECT):
            head, slash, disk = handle.rpartition("/")
            return head + slash + self.token("disk", disk)
        return self.token("disk", handle)

    def keep_numbers(self, key: str) -> None:
        """Keep the numbers among the values of a key, because an operator compares them."""
        self._numeric_keys.add(key)

    def keep_values(self, key: str) -> None:
        """Keep all values of a key, because a policy gives them a meaning."""
        self._kept_value_keys.add(key)


def _ranked(category: str, names: Iterable[str]) -> dict[str, str]:
    """Return tokens that sort like the names."""
    ordered = sorted(names)
    width = len(str(len(ordered)))
    return {name: f"{category}-{rank:0{width}}" for rank, name in enumerate(ordered, 1)}


def _value_tokens(values: Iterable[str]) -> dict[str, str]:
    """Return tokens of label values. Values that differ only in case get tokens that differ only in case.

    Lifecycle labels are compared without case.
    """
    variants: defaultdict[str, list[str]] = defaultdict(list)
    for value in sorted(values):
        variants[value.lower()].append(value)
    ranks = _ranked(_VALUE, variants)
    cases = ["".join(letters) for letters in product(*((letter, letter.upper()) for letter in _VALUE))]
    return {
        value: ranks[lower].replace(_VALUE, cases[index % len(cases)], 1)
        for lower, found in variants.items()
        for index, value in enumerate(found)
    }


def _is_number(value: str) -> bool:
    return value.removeprefix("-").removeprefix("+").isdecimal()
