"""LIST and WATCH of one resource, as raw objects: pages, bookmarks, resourceVersions and their expiry."""

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from http import HTTPStatus
from random import Random
from typing import TypeVar

import msgspec

from moorage.errors import AnswerTooLong, ApiError, Gone
from moorage.nested_json import decode_nested
from moorage.runtime.api_resources import Resource
from moorage.runtime.client.kube import KubeClient
from moorage.runtime.client.refusals import refusal
from moorage.runtime.informers.kind_absence import is_known_absent

logger = logging.getLogger(__name__)
T = TypeVar("T")

PAGE_SIZE = 500
"""Objects in a page of a list; client-go's default."""
SMALLER_PAGES = 8
"""If a page is too long to read, the page size is divided by this number. For example, pods of 1 MB make long pages."""
INACTIVITY_SECONDS = 90.0
"""A watch that sends nothing for this time counts as dead, because bookmarks arrive about every minute."""
WATCH_SECONDS = (300, 600)
"""The range of the random time after which the API server ends a watch. With random times, watches end at different
times, as in client-go."""
BOOKMARK = "BOOKMARK"
ERROR = "ERROR"
DELETED = "DELETED"


class WatchedMetadata(msgspec.Struct, rename="camel"):
    """The part of an object's metadata that is needed before the object is decoded."""

    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class WatchedObject(msgspec.Struct):
    """An object's metadata, without the rest."""

    metadata: WatchedMetadata


class ListMetadata(msgspec.Struct, rename="camel"):
    """A list's metadata."""

    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class ObjectPage(msgspec.Struct):
    """A page of a list. Go writes the items of an empty page as null."""

    metadata: ListMetadata
    items: list[msgspec.Raw] | None = None


class WatchEvent(msgspec.Struct):
    """A line of a watch."""

    type: str
    object: msgspec.Raw


class ListWatch:
    """Reads one resource. The next watch starts at `resource_version`. If it is empty, a list must come first."""

    def __init__(
        self,
        client: KubeClient,
        resource: Resource,
        random: Random,
        inactivity_seconds: float = INACTIVITY_SECONDS,
        page_size: int = PAGE_SIZE,
    ) -> None:
        """Read `resource` through `client`."""
        self.resource = resource
        self.resource_version = ""
        self.random = random
        """Used for random times, here and in the informer."""
        self.watch_seconds = WATCH_SECONDS
        """The shortest and the longest time after which the API server ends a watch."""
        self._client = client
        self._inactivity_seconds = inactivity_seconds
        self._page_size = page_size
        self._pages = msgspec.json.Decoder(ObjectPage)
        self._events = msgspec.json.Decoder(WatchEvent)
        self._objects = msgspec.json.Decoder(WatchedObject)

    async def pages(self) -> AsyncGenerator[list[msgspec.Raw]]:
        """List all objects and yield each page. Set `resource_version` after the last page."""
        self.resource_version = ""
        query = {"limit": str(self._page_size)} | self._selection()
        while True:
            try:
                body = await self._client.list_page(self.resource.collection, query)
            except AnswerTooLong:
                if self._page_size == 1:
                    raise
                self._page_size = max(self._page_size // SMALLER_PAGES, 1)
                query["limit"] = str(self._page_size)
                logger.info("%s are large; listing %d at a time", self.resource.plural, self._page_size)
                continue
            page = self._read(self._pages, body)
            yield page.items or []
            if not page.metadata.continue_:
                self.resource_version = page.metadata.resource_version
                return
            query["continue"] = page.metadata.continue_

    async def changes(self, opened: Callable[[], None]) -> AsyncGenerator[list[WatchEvent]]:
        """Watch from `resource_version` on and yield the events of each read. Keep `resource_version` up to date.

        Call `opened` when the API server has accepted the watch. Raise Gone if the resourceVersion has expired, and
        AnswerTooLong if an event is too long. After these errors, a list must come first.
        """
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self.resource_version,
            "timeoutSeconds": str(self.random.randint(*self.watch_seconds)),
        } | self._selection()
        watch = self._client.watch(self.resource.collection, query, self._inactivity_seconds, opened)
        try:
            async with aclosing(watch):
                async for lines in watch:
                    events = [self._read(self._events, line) for line in lines]
                    last = self._last_version(events)
                    yield [event for event in events if event.type != BOOKMARK]
                    self.resource_version = last or self.resource_version
        except (Gone, AnswerTooLong):
            self.resource_version = ""
            raise

    async def is_absent(self) -> bool:
        """Return whether the API server says that it does not serve the resource."""
        return await is_known_absent(self._client, self.resource)

    def metadata(self, raw: msgspec.Raw) -> WatchedMetadata:
        """Return an object's metadata; empty if it cannot be decoded."""
        try:
            return decode_nested(self._objects.decode, bytes(raw)).metadata
        except msgspec.DecodeError:
            return WatchedMetadata()

    def _last_version(self, events: list[WatchEvent]) -> str:
        for event in events:
            if event.type == ERROR:
                raise refusal(0, bytes(event.object))
        return self.metadata(events[-1].object).resource_version

    def _read(self, decoder: msgspec.json.Decoder[T], body: bytes) -> T:
        try:
            return decode_nested(decoder.decode, body)
        except msgspec.DecodeError as error:
            message = f"{self.resource.collection}: the answer is not an API server's: {error}"
            raise ApiError(HTTPStatus.OK, "", message) from error

    def _selection(self) -> dict[str, str]:
        selector = self.resource.field_selector
        return {"fieldSelector": selector} if selector else {}
