"""Asks the API server's discovery whether the server serves a resource. Only discovery shows that a kind is absent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from moorage.errors import ApiError, ApiUnreachable, NotFound

if TYPE_CHECKING:
    from moorage.runtime.api_resources import Resource
    from moorage.runtime.client.kube import KubeClient


class _Named(msgspec.Struct):
    name: str


class _ResourceList(msgspec.Struct):
    """`metav1.APIResourceList`: the resources of one version of an API group."""

    resources: list[_Named]


async def is_known_absent(client: KubeClient, resource: Resource) -> bool:
    """Return whether discovery answers that the resource, or its API group and version, does not exist."""
    try:
        answer = msgspec.json.decode(await client.get(resource.discovery), type=_ResourceList)
    except NotFound:
        return True
    except (ApiError, ApiUnreachable, msgspec.MsgspecError):
        return False
    return all(served.name != resource.plural for served in answer.resources)
