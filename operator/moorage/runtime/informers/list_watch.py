"""LIST and WATCH of one resource, as raw objects: pages, bookmarks, resourceVersions and their expiry."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from http import HTTPStatus
from random import Random
from typing import TypeVar

import msgspec

from moorage.errors import ApiError, Gone
from moorage.runtime.api_resources import Resource
from moorage.runtime.client.kube import KubeClient
from moorage.runtime.client.refusals import refusal

T = TypeVar("T")

PAGE_SIZE = 500
"""Objects in one page of a list; client-go's default."""
INACTIVITY_SECONDS = 90.0
"""A watch that is silent for longer is taken for dead: bookmarks come about every minute."""
WATCH_SECONDS = (300, 600)
"""How long the API server is asked to keep a watch open; random, so that not all end at once (as client-go)."""
BOOKMARK = "BOOKMARK"
ERROR = "ERROR"
DELETED = "DELETED"


class Metadata(msgspec.Struct, rename="camel"):
    """What of an object's metadata is needed before the object itself is read."""

    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class Head(msgspec.Struct):
    """An object, metadata only."""

    metadata: Metadata


class ListMetadata(msgspec.Struct, rename="camel"):
    """A list's metadata."""

    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class Page(msgspec.Struct):
    """A page of a list; Go writes an empty one's items as null."""

    metadata: ListMetadata
    items: list[msgspec.Raw] | None = None


class WatchEvent(msgspec.Struct):
    """A line of a watch."""

    type: str
    object: msgspec.Raw


class ListWatch:
    """Reads one resource. `resource_version` is where the next watch goes on; empty where a list has to come first."""

    def __init__(
        self, client: KubeClient, resource: Resource, random: Random, inactivity_seconds: float = INACTIVITY_SECONDS
    ) -> None:
        """Read `resource` through `client`."""
        self.resource = resource
        self.resource_version = ""
        self.random = random
        """For jitter, here and in who reads."""
        self._client = client
        self._inactivity_seconds = inactivity_seconds
        self._pages = msgspec.json.Decoder(Page)
        self._events = msgspec.json.Decoder(WatchEvent)
        self._heads = msgspec.json.Decoder(Head)

    async def pages(self) -> AsyncGenerator[list[msgspec.Raw]]:
        """List everything, a page at a time; once the last page is out, `resource_version` is the list's."""
        self.resource_version = ""
        query = {"limit": str(PAGE_SIZE)} | self._selection()
        while True:
            body = await self._client.list_page(self.resource.collection, query)
            page = self._read(self._pages, body)
            yield page.items or []
            if not page.metadata.continue_:
                self.resource_version = page.metadata.resource_version
                return
            query["continue"] = page.metadata.continue_

    async def changes(self) -> AsyncGenerator[list[WatchEvent]]:
        """Watch from `resource_version` on, a read at a time, and keep it up to date. Ends when the watch ends.

        Raises Gone when the resourceVersion has expired; a list has to come first then.
        """
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self.resource_version,
            "timeoutSeconds": str(self.random.randint(*WATCH_SECONDS)),
        } | self._selection()
        watch = self._client.watch(self.resource.collection, query, self._inactivity_seconds)
        try:
            async with aclosing(watch):
                async for lines in watch:
                    events = [self._read(self._events, line) for line in lines]
                    last = self._last_version(events)
                    yield [event for event in events if event.type != BOOKMARK]
                    self.resource_version = last or self.resource_version
        except Gone:
            self.resource_version = ""
            raise

    def head(self, raw: msgspec.Raw) -> Metadata:
        """Read an object's metadata."""
        try:
            return self._heads.decode(raw).metadata
        except msgspec.DecodeError:
            return Metadata()

    def _last_version(self, events: list[WatchEvent]) -> str:
        for event in events:
            if event.type == ERROR:
                raise refusal(0, bytes(event.object))
        return self.head(events[-1].object).resource_version

    def _read(self, decoder: msgspec.json.Decoder[T], body: bytes) -> T:
        try:
            return decoder.decode(body)
        except msgspec.DecodeError as error:
            message = f"{self.resource.collection}: not an answer of an API server: {error}"
            raise ApiError(HTTPStatus.OK, "", message) from error

    def _selection(self) -> dict[str, str]:
        selector = self.resource.field_selector
        return {"fieldSelector": selector} if selector else {}
