"""Writes the binding of a pod to a node. If the answer is not clear, reads the pod to find out whether it is bound.

POST binding (uid as precondition) -> 2xx with a Status: bound
   |-> 409, 5xx, no answer, or a 2xx without a Status, such as a proxy's page
   |     -> GET the pod -> it is on our node: bound
   |                    -> it is on another node: a stale decision
   |                    -> otherwise: not bound
   '-> other refusals: not bound
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from moorage.errors import ApiError, ApiUnreachable, Conflict, NotFound, StaleDecision
from moorage.nested_json import decode_nested
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
"""The first and the longest wait between two reads of the pod. Reads continue until the API server answers."""
CONFIRM_SECONDS = 10.0
"""After an extender answers that it has bound a pod, the pod must have its node within this time."""
SERVER_ERROR = 500


class BindingWriter:
    """The writer of bindings."""

    def __init__(
        self, client: KubeClient, clock: Clock, random: Random, timeout_seconds: float = REQUEST_SECONDS
    ) -> None:
        """If a binding has no answer after `timeout_seconds`, read the pod."""
        self._client = client
        self._clock = clock
        self._random = random
        self._timeout_seconds = timeout_seconds
        self._encoder = msgspec.json.Encoder()
        self._pods = msgspec.json.Decoder(_BoundPod)
        self._statuses = msgspec.json.Decoder(_BindingStatus)

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Bind the pod.

        An ApiError, ApiUnreachable, NotLeader or StaleDecision means that this call did not bind the pod.
        """
        path = POD.path(pod.name, pod.namespace)
        metadata = _BindingMetadata(pod.name, pod.namespace, pod.uid)
        body = self._encoder.encode(_BindingBody(metadata, _BindingTarget("Node", node_name)))
        try:
            answer = await self._client.create(f"{path}/binding", body, timeout_seconds=self._timeout_seconds)
            self._check_answer(answer, path)
        except (ApiError, ApiUnreachable) as error:
            if not _is_ambiguous(error) or not await self.is_bound(pod, node_name):
                raise

    async def is_bound(self, pod: Pod, node_name: str) -> bool:
        """Return whether the pod with this uid is on the node. Read the pod until the API server answers.

        Raises StaleDecision if the pod is on another node.
        """
        found = await self._read_node_name(pod)
        if found not in {"", node_name}:
            raise StaleDecision("bound", f"pod {pod.key} is already assigned to node {found}")
        return found == node_name

    async def confirm(self, pod: Pod, node_name: str) -> None:
        """Wait until the pod is on the node, after an extender has said that it bound the pod there.

        Without this check, a pod that the extender did not bind would never be tried again, and the engine would keep
        the node's room for it. Raises StaleDecision if the pod is on another node, or if it has no node after
        CONFIRM_SECONDS.
        """
        deadline = self._clock.monotonic() + CONFIRM_SECONDS
        backoff = ExponentialBackoff(READ_BACK_SECONDS, MAX_READ_BACK_SECONDS, self._random)
        while not await self.is_bound(pod, node_name):
            if self._clock.monotonic() >= deadline:
                message = f"the extender says that it has bound pod {pod.key}, but the pod has no node"
                raise StaleDecision("changed", message)
            await self._clock.sleep(backoff.next_seconds())

    def _check_answer(self, answer: bytes, path: str) -> None:
        try:
            self._statuses.decode(answer)
        except msgspec.DecodeError as error:
            raise ApiUnreachable(f"POST {path}/binding: not an answer of an API server: {error}") from error

    async def _read_node_name(self, pod: Pod) -> str:
        """Return the pod's node. Return an empty text if the pod has no node or does not exist any more."""
        path = POD.path(pod.name, pod.namespace)
        backoff = ExponentialBackoff(READ_BACK_SECONDS, MAX_READ_BACK_SECONDS, self._random)
        while True:
            try:
                read = decode_nested(self._pods.decode, await self._client.get(path))
            except NotFound:
                return ""
            except (ApiError, ApiUnreachable, msgspec.DecodeError):
                await self._clock.sleep(backoff.next_seconds())
            else:
                return read.spec.node_name if read.metadata.uid == pod.uid else ""


class _BindingMetadata(msgspec.Struct):
    name: str
    namespace: str
    uid: str


class _BindingTarget(msgspec.Struct):
    kind: str
    name: str


class _BindingBody(msgspec.Struct, rename="camel"):
    """The object `v1.Binding`."""

    metadata: _BindingMetadata
    target: _BindingTarget
    api_version: str = "v1"
    kind: str = "Binding"


class _BoundMetadata(msgspec.Struct):
    uid: str = ""


class _BoundSpec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _BoundPod(msgspec.Struct):
    """The uid and the node of a pod."""

    metadata: _BoundMetadata
    spec: _BoundSpec


class _BindingStatus(msgspec.Struct):
    """The API server's answer to a binding. A proxy's own answer has no such `kind`."""

    kind: Literal["Status"]


def _is_ambiguous(error: ApiError | ApiUnreachable) -> bool:
    """Return whether the API server may have bound the pod in spite of this error."""
    if isinstance(error, ApiUnreachable):
        return True
    return isinstance(error, Conflict) or error.status >= SERVER_ERROR
