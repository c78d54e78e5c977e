"""Lists everything that the engine reads of a cluster, for commands such as `moorage dump`. Does not watch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import msgspec

from moorage.errors import ApiError, Forbidden, Gone, NotFound
from moorage.inventory import KINDS, Inventory, keep_read_fields
from moorage.model.decode import Decoder
from moorage.nested_json import decode_nested
from moorage.runtime.api_resources import INFORMED, NODE, POD, SCHEDULING_POLICY
from moorage.runtime.informers.list_watch import ListWatch
from moorage.runtime.timestamps import whole_time

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from random import Random

    from moorage.runtime.api_resources import Resource
    from moorage.runtime.client.kube import KubeClient
    from moorage.runtime.clock import Clock

LISTS_PER_KIND = 3
"""The number of attempts to list a kind. An attempt fails if the list expires in the API server before the last
page."""
NOT_SERVED = "the API server does not serve it"
_REQUIRED = frozenset({NODE.kind, POD.kind})
_RESOURCES: Mapping[str, Resource] = {each.kind: each for each in (*INFORMED, SCHEDULING_POLICY)}


class ListingProgress(Protocol):
    """Receives the progress of a listing. The command line shows a progress bar; tests record the calls."""

    def listing(self, kind: str, count: int) -> None:
        """Show that `count` objects of a kind are read so far."""

    def left_out(self, message: str) -> None:
        """Show why an object or a kind is left out."""


@dataclass(slots=True)
class ClusterListing:
    """One listing of a cluster."""

    client: KubeClient
    random: Random
    clock: Clock
    progress: ListingProgress
    kinds: Collection[str] = tuple(KINDS)
    """The kinds to list."""
    page_size: int = 500
    _decoder: Decoder = field(default_factory=Decoder)
    _unlisted: dict[str, str] = field(default_factory=dict)

    async def run(self) -> Inventory:
        """List the kinds in pages; return the objects, reduced to the fields that scheduling reads.

        Leave out a kind that the API server does not serve, or that this user may not list; `unlisted` names the kind
        and the reason. Raise an ApiError if nodes or pods cannot be listed, or ApiUnreachable if the API server does
        not answer.
        """
        taken = whole_time(self.clock.time())
        objects = {kind: await self._list_kind(_RESOURCES[kind]) for kind in KINDS if kind in self.kinds}
        return Inventory(objects=objects, unlisted=self._unlisted, taken=taken, api_server=await self._server_version())

    async def _list_kind(self, resource: Resource) -> list[bytes]:
        source = ListWatch(self.client, resource, self.random, page_size=self.page_size)
        try:
            for _ in range(LISTS_PER_KIND - 1):
                try:
                    return await self._pages(source)
                except Gone:
                    continue
            return await self._pages(source)
        except (Forbidden, NotFound) as error:
            if resource.kind in _REQUIRED:
                raise
            is_absent = isinstance(error, NotFound) or await source.is_absent()
            reason = NOT_SERVED if is_absent else error.message
            self._unlisted[resource.kind] = reason
            self.progress.left_out(f"{resource.permission} cannot be listed: {reason}")
            return []

    async def _pages(self, source: ListWatch) -> list[bytes]:
        kind = source.resource.kind
        found: list[bytes] = []
        self.progress.listing(kind, 0)
        async for page in source.pages():
            for raw in page:
                kept = self._keep(kind, raw)
                if kept:
                    found.append(kept)
            self.progress.listing(kind, len(found))
        return found

    def _keep(self, kind: str, raw: msgspec.Raw) -> bytes:
        """Return an object with the fields that scheduling reads; empty for an object that cannot be decoded."""
        body = decode_nested(msgspec.json.decode, bytes(raw))
        kept = msgspec.json.encode(keep_read_fields(kind, body))
        if kind == SCHEDULING_POLICY.kind:
            return kept
        try:
            self._decoder.decode(kind, kept)
        except (ValueError, msgspec.MsgspecError) as error:
            metadata = body.get("metadata") or {}
            name = "/".join(part for part in (metadata.get("namespace"), metadata.get("name")) if part)
            self.progress.left_out(f"{kind} {name} cannot be read, so it is left out: {error}")
            return b""
        return kept

    async def _server_version(self) -> str:
        """Return the API server's version; an empty text if it cannot be read."""
        try:
            return str(msgspec.json.decode(await self.client.get("/version")).get("gitVersion", ""))
        except (ApiError, msgspec.MsgspecError, AttributeError):
            return ""
