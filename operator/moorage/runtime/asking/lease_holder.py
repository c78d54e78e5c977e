"""Finds the pod of the leading operator with the help of the Lease."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from moorage.errors import ApiError, NoOperator, NotFound
from moorage.runtime.api_resources import HOLDER_POD

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


class _HeldLeaseMetadata(msgspec.Struct):
    annotations: dict[str, str] | None = None


class _HeldLease(msgspec.Struct):
    metadata: _HeldLeaseMetadata = msgspec.field(default_factory=_HeldLeaseMetadata)
    spec: _HeldLeaseSpec = msgspec.field(default_factory=_HeldLeaseSpec)


async def find_operator(client: KubeClient, lease: str) -> OperatorPod:
    """Return the pod that holds the Lease `namespace/name`. Raise NoOperator with the reason.

    The Lease names the pod and its namespace. A search for the pod's name in all namespaces would be unsafe: a tenant
    could create a pod with this name and receive the user's token.
    """
    lease_namespace, _, lease_name = lease.partition("/")
    path = f"{LEASES}/{quote(lease_namespace, safe='')}/leases/{quote(lease_name, safe='')}"
    try:
        held = msgspec.json.decode(await client.get(path), type=_HeldLease)
    except NotFound:
        raise NoOperator(f"there is no Lease {lease}, so no operator runs with leader election") from None
    except ApiError as error:
        raise NoOperator(f"the Lease {lease} cannot be read: {error}") from error
    holder = held.spec.holder_identity or ""
    if not holder:
        raise NoOperator(f"no operator holds the Lease {lease} now")
    namespace, _, name = (held.metadata.annotations or {}).get(HOLDER_POD, "").partition("/")
    if not namespace or holder.rpartition("_")[0] != name:
        raise NoOperator(f"{holder} holds the Lease {lease}, but is not a pod; pass --server to ask a process")
    return OperatorPod(namespace, name)
