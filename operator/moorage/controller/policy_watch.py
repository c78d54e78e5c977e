"""kopf's half: every event of a SchedulingPolicy is handed on, and nothing else is done.

kopf runs in a thread and an event loop of its own, because at its end it cancels every task of its loop. Only
`on.event` handlers are registered, so kopf never writes to the objects: no annotations, no finalizers. An error in such
a handler would be swallowed, so the handler does nothing that can fail; the policy is read, judged and made live by the
receiver.

A watch error that stays ends kopf's operator by design; it is started again, with growing pauses, until `stop`.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import kopf

from moorage.api.v1alpha1 import GROUP, PLURAL, VERSION

logger = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 5.0
"""Pauses between restarts double from the first to the longest: so late is a policy at most after an outage."""
RETRY_SECONDS = (0.5, 1.0, 2.0)
"""How long kopf waits before it tries a request again, before it gives up."""
STOP_POLL_SECONDS = 0.1

Receiver = Callable[[str, Mapping[str, Any]], None]
"""Is given the event's type (ADDED, MODIFIED, DELETED, or empty for one of the first list) and the object.
It is called in kopf's thread."""

SessionFactory = Callable[[], Awaitable[tuple[Any, str]]]
"""Makes an HTTP session with credentials, and tells the API server's address; it is awaited in kopf's loop."""


class PolicyWatch:
    """kopf's operator for SchedulingPolicy objects, in a thread."""

    def __init__(self, receive: Receiver, open_session: SessionFactory) -> None:
        """Prepare; `start` begins to watch."""
        self._receive = receive
        self._open_session = open_session
        self._stop = threading.Event()
        self._is_told = False
        self._thread = threading.Thread(target=self._supervise, name="kopf", daemon=True)

    def start(self) -> None:
        """Begin to watch, in the background."""
        self._thread.start()

    def stop(self, timeout_seconds: float = 5.0) -> None:
        """End the watch and wait for the thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout_seconds)

    def _supervise(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while not self._stop.is_set():
            try:
                asyncio.run(self._operate())
            except Exception as error:  # noqa: BLE001 - the thread's border: policies have to be watched, whatever ended it
                self._tell(error)
            if self._stop.wait(pause):
                return
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS) if self._is_told else FIRST_PAUSE_SECONDS

    def _tell(self, error: Exception) -> None:
        """Tell what ended the watch, once until something is heard of it again."""
        level = logging.DEBUG if self._is_told else logging.WARNING
        self._is_told = True
        words = "the watch of SchedulingPolicies ended, and begins again and again until it lasts: %s: %s"
        logger.log(level, words, type(error).__name__, error)
        logger.debug("what ended the watch", exc_info=error)

    def _hear(self, type_: str, manifest: Mapping[str, Any]) -> None:
        self._is_told = False
        self._receive(type_, manifest)

    async def _operate(self) -> None:
        ending = asyncio.Event()
        looking = asyncio.create_task(self._look_for_stop(ending))
        try:
            await kopf.operator(
                registry=_registry(self._hear, self._open_session),
                settings=_settings(),
                clusterwide=True,
                standalone=True,
                stop_flag=ending,
            )
        finally:
            looking.cancel()

    async def _look_for_stop(self, ending: asyncio.Event) -> None:
        """Hand the stop on. kopf itself would wait for a thread's flag in another thread, and never end without it."""
        while not self._stop.is_set():  # noqa: ASYNC110 - it is set in another thread
            await asyncio.sleep(STOP_POLL_SECONDS)
        ending.set()


def _registry(receive: Receiver, open_session: SessionFactory) -> kopf.OperatorRegistry:
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.AiohttpSession:
        session, server = await open_session()
        return kopf.AiohttpSession(server=server, aiohttp_session=session)

    @kopf.on.event(GROUP, VERSION, PLURAL, registry=registry)
    async def policy_changed(event: kopf.RawEvent, **_: Any) -> None:
        receive(str(event.get("type") or ""), dict(event["object"]))

    return registry


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.scanning.disabled = True  # its watches of CRDs and namespaces need rights that nothing else needs
    settings.posting.enabled = False  # events come from our own recorder
    settings.peering.standalone = True  # a Lease decides who binds
    settings.process.ultimate_exiting_timeout = None  # kopf is a guest in this process
    settings.networking.request_timeout = 30
    settings.networking.connect_timeout = 5
    settings.networking.error_backoffs = RETRY_SECONDS
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 330
    return settings
