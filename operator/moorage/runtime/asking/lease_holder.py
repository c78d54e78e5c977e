"""Finds the pod of the operator that leads, by the Lease."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from moorage.errors import ApiError, NoOperator, NotFound

if TYPE_CHECKING:
    from moorage.runtime.client.kube import KubeClient

LEASES = "/apis/coordination.k8s.io/v1/namespaces"


@dataclass(frozen=True, slots=True)
class OperatorPod:
    """The pod of an operator."""

    namespace: str
    name: str


class _HeldLeaseSpec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None


class _HeldLease(msgspec.Struct):
    spec: _HeldLeaseSpec = msgspec.field(default_factory=_HeldLeaseSpec)


class _FoundPodName(msgspec.Struct):
    name: str
    namespace: str


class _FoundPod(msgspec.Struct):
    metadata: _FoundPodName


class _Pods(msgspec.Struct):
    items: list[_FoundPod] = msgspec.field(default_factory=list)


async def find_operator(client: KubeClient, lease: str, namespace: str | None) -> OperatorPod:
    """Return the pod that holds the Lease `namespace/name`; `namespace` is the operator's, None to search all.

    Raise NoOperator with the reason.
    """
    lease_namespace, _, lease_name = lease.partition("/")
    path = f"{LEASES}/{quote(lease_namespace, safe='')}/leases/{quote(lease_name, safe='')}"
    try:
        holder = msgspec.json.decode(await client.get(path), type=_HeldLease).spec.holder_identity or ""
    except NotFound:
        raise NoOperator(f"there is no Lease {lease}, so no operator runs with leader election") from None
    except ApiError as error:
        raise NoOperator(f"the Lease {lease} cannot be read: {error}") from error
    if not holder:
        raise NoOperator(f"no operator holds the Lease {lease} now")
    pod = holder.rpartition("_")[0]
    where = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods" if namespace else "/api/v1/pods"
    try:
        answer = await client.list_page(where, {"fieldSelector": f"metadata.name={pod}"})
    except ApiError as error:
        hint = "" if namespace else "; pass --operator-namespace"
        raise NoOperator(f"the operator's pod {pod} cannot be looked up: {error}{hint}") from error
    found = msgspec.json.decode(answer, type=_Pods).items
    if not found:
        raise NoOperator(f"{holder} holds the Lease {lease}, but no pod is named {pod}; ask a process with --server")
    return OperatorPod(found[0].metadata.namespace, found[0].metadata.name)
