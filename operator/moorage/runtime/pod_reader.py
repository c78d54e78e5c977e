"""Reads whole pods from the API server, for extenders.

The scheduler keeps only the fields of a pod that it needs. It does not keep whole pods in memory, because a pod may
have 1.5 MB.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import msgspec

from moorage.errors import ApiError, NotFound
from moorage.nested_json import decode_nested
from moorage.runtime.api_resources import POD

if TYPE_CHECKING:
    from moorage.model.pods.pod import Pod
    from moorage.runtime.client.kube import KubeClient


class _PodMetadata(msgspec.Struct):
    uid: str = ""


class _PodIdentity(msgspec.Struct):
    metadata: _PodMetadata


_DECODER = msgspec.json.Decoder(_PodIdentity)


async def read_pod(client: KubeClient, pod: Pod) -> bytes:
    """Return a pod's object as JSON. It is at least as new as `pod`.

    Raise NotFound if the pod was deleted, another ApiError if the API server refuses, and ApiUnreachable if no answer
    comes.
    """
    path = POD.path(pod.name, pod.namespace)
    raw = await client.get(f"{path}?resourceVersion={pod.resource_version}")
    try:
        uid = decode_nested(_DECODER.decode, raw).metadata.uid
    except msgspec.DecodeError as error:
        raise ApiError(HTTPStatus.OK, "", f"{path}: the answer is not an API server's: {error}") from error
    if uid != pod.uid:
        raise NotFound(HTTPStatus.NOT_FOUND, "NotFound", f"pod {pod.key} was deleted, and created again")
    return raw
