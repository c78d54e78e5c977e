"""The write that binds a pod to a node, and what is to be believed when its answer is lost.

POST binding (uid as precondition) -> 2xx with a Status: bound
   |-> 409, 5xx, no answer, or a 2xx that is no Status but, say, a proxy's page
   |     -> GET the pod -> it is on our node: bound
   |                    -> anything else: not bound by us
   '-> other refusals: not bound
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from moorage.errors import ApiError, ApiUnreachable, Conflict, NotFound
from moorage.runtime.api_resources import POD
from moorage.runtime.backoff import ExponentialBackoff
from moorage.runtime.client.kube import REQUEST_SECONDS

if TYPE_CHECKING:
    from random import Random

    from moorage.model.pods.pod import Pod
    from moorage.runtime.client.kube import KubeClient
    from moorage.runtime.clock import Clock

READ_BACK_SECONDS = 0.2
MAX_READ_BACK_SECONDS = 10.0
"""First and longest wait between two tries to read a pod back; they go on until there is an answer."""
SERVER_ERROR = 500


class _Metadata(msgspec.Struct):
    name: str
    namespace: str
    uid: str


class _Target(msgspec.Struct):
    kind: str
    name: str


class _Binding(msgspec.Struct, rename="camel"):
    metadata: _Metadata
    target: _Target
    api_version: str = "v1"
    kind: str = "Binding"


class _BoundMetadata(msgspec.Struct):
    uid: str = ""


class _BoundSpec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _BoundPod(msgspec.Struct):
    """A pod, read only to see where it is bound."""

    metadata: _BoundMetadata
    spec: _BoundSpec


class _Answer(msgspec.Struct):
    """What the API server answers to a binding, as opposed to whoever stands before it."""

    kind: Literal["Status"]


class BindingWriter:
    """Writes bindings."""

    def __init__(
        self, client: KubeClient, clock: Clock, random: Random, timeout_seconds: float = REQUEST_SECONDS
    ) -> None:
        """Give up waiting for an answer after `timeout_seconds`, and read the pod back then."""
        self._client = client
        self._clock = clock
        self._random = random
        self._timeout_seconds = timeout_seconds
        self._encoder = msgspec.json.Encoder()
        self._decoder = msgspec.json.Decoder(_BoundPod)
        self._answers = msgspec.json.Decoder(_Answer)

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Bind the pod. Raises ApiError, ApiUnreachable or NotLeader when it is certain that this did not bind it."""
        path = POD.path(pod.name, pod.namespace)
        body = self._encoder.encode(_Binding(_Metadata(pod.name, pod.namespace, pod.uid), _Target("Node", node_name)))
        try:
            answer = await self._client.create(f"{path}/binding", body, timeout_seconds=self._timeout_seconds)
            self._check(answer, path)
        except (ApiError, ApiUnreachable) as error:
            if not _is_ambiguous(error) or not await self._is_bound(path, pod.uid, node_name):
                raise

    def _check(self, answer: bytes, path: str) -> None:
        try:
            self._answers.decode(answer)
        except msgspec.DecodeError as error:
            raise ApiUnreachable(f"POST {path}/binding: not an answer of an API server: {error}") from error

    async def _is_bound(self, path: str, uid: str, node_name: str) -> bool:
        backoff = ExponentialBackoff(READ_BACK_SECONDS, MAX_READ_BACK_SECONDS, self._random)
        while True:
            try:
                pod = self._decoder.decode(await self._client.get(path))
            except NotFound:
                return False
            except (ApiError, ApiUnreachable, msgspec.DecodeError):
                await self._clock.sleep(backoff.next_seconds())
            else:
                return pod.metadata.uid == uid and pod.spec.node_name == node_name


def _is_ambiguous(error: ApiError | ApiUnreachable) -> bool:
    if isinstance(error, ApiUnreachable):
        return True
    return isinstance(error, Conflict) or error.status >= SERVER_ERROR
