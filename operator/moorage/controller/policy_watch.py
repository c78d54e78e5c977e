"""PolicyWatch: watches SchedulingPolicy objects with kopf, and passes every event on.

kopf runs in a thread with its own event loop, because it cancels every task of its loop when it ends. Only `on.event`
handlers are registered, so kopf never writes to the objects: no annotations, no finalizers. kopf hides errors of such
handlers. So the handler only passes the event on, and the receiver parses, compiles and reports the policy.

Only kopf's thread imports kopf. The import takes half a second of CPU, and the first pods must not wait for it.

kopf's operator ends after a watch error that persists. PolicyWatch restarts the operator, after growing pauses, until
`stop` is called.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from moorage.api.v1alpha1 import GROUP, PLURAL, VERSION
from moorage.errors import MoorageError

if TYPE_CHECKING:
    import kopf

logger = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 5.0
"""The pause between restarts doubles up to this value. So a policy waits at most this long after an outage."""
RETRY_SECONDS = (0.5, 1.0, 2.0)
"""kopf's pauses before it repeats a failed request. If the last repetition fails too, kopf's operator ends."""
STOP_POLL_SECONDS = 0.1

EventReceiver = Callable[[str, Mapping[str, Any]], None]
"""Takes the type of an event (ADDED, MODIFIED, DELETED, or empty for an object of the first list), and the object.
It is called in kopf's thread."""

SessionOpener = Callable[[], Awaitable[tuple[Any, str]]]
"""Returns an authenticated HTTP session, and the URL of the API server. It is awaited in kopf's event loop."""


class PolicyWatch:
    """kopf's operator for SchedulingPolicy objects, in a thread."""

    def __init__(self, receive: EventReceiver, open_session: SessionOpener) -> None:
        """Prepare the thread; `start` starts it."""
        self._receive = receive
        self._open_session = open_session
        self._stop = threading.Event()
        self._restart = threading.Event()
        self._has_failed = False
        self._thread = threading.Thread(target=self._supervise, name="kopf", daemon=True)

    def start(self) -> None:
        """Start to watch in the background."""
        self._thread.start()

    def restart(self) -> None:
        """Start kopf's operator again. The new operator finds the CRD and lists all policies."""
        self._restart.set()

    def stop(self, timeout_seconds: float = 5.0) -> None:
        """Stop the watch, and wait for the end of the thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout_seconds)

    def _supervise(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while not self._stop.is_set():
            self._restart.clear()
            try:
                asyncio.run(self._run_operator())
            except Exception as error:  # noqa: BLE001 - the border of the thread: any error must lead to a restart
                self._log_failure(error)
            if self._stop.wait(pause):
                return
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS) if self._has_failed else FIRST_PAUSE_SECONDS

    async def _run_operator(self) -> None:
        import kopf

        asyncio.get_running_loop().set_exception_handler(_log_unhandled)
        stopping = asyncio.Event()
        poller = asyncio.create_task(self._forward_stop(stopping))
        try:
            await kopf.operator(
                registry=self._registry(),
                settings=_settings(),
                clusterwide=True,
                standalone=True,
                stop_flag=stopping,
            )
        finally:
            poller.cancel()

    async def _forward_stop(self, stopping: asyncio.Event) -> None:
        """Set kopf's flag after `stop` or `restart`.

        If kopf received a threading.Event, kopf would wait for the event in a thread that never ends.
        """
        while not (self._stop.is_set() or self._restart.is_set()):  # noqa: ASYNC110 - another thread sets them
            await asyncio.sleep(STOP_POLL_SECONDS)
        stopping.set()

    def _registry(self) -> kopf.OperatorRegistry:
        import kopf

        registry = kopf.OperatorRegistry()

        @kopf.on.login(registry=registry)
        async def login(**_: Any) -> kopf.AiohttpSession:
            return await self._login()

        @kopf.on.event(GROUP, VERSION, PLURAL, registry=registry)
        async def policy_changed(event: kopf.RawEvent, **_: Any) -> None:
            self._pass_event_on(str(event.get("type") or ""), dict(event["object"]))

        return registry

    async def _login(self) -> kopf.AiohttpSession:
        """Open a session. Try again until that succeeds, because kopf would try again only after a minute."""
        import kopf

        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                session, server = await self._open_session()
            except MoorageError as error:
                self._log_failure(error)
            else:
                return kopf.AiohttpSession(server=server, aiohttp_session=session)
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    def _pass_event_on(self, type_: str, manifest: Mapping[str, Any]) -> None:
        if self._has_failed:
            logger.info("The watch of SchedulingPolicies works again")
        self._has_failed = False
        self._receive(type_, manifest)

    def _log_failure(self, error: Exception) -> None:
        """Log the first failure as a warning. Log further failures at DEBUG, until an event arrives."""
        level = logging.DEBUG if self._has_failed else logging.WARNING
        self._has_failed = True
        message = "The watch of SchedulingPolicies failed; trying again within %g s: %s: %s"
        logger.log(level, message, LONGEST_PAUSE_SECONDS, type(error).__name__, error)
        logger.debug("The error of the watch", exc_info=error)


def _log_unhandled(_: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
    """Log at DEBUG an error of a task that kopf left behind. PolicyWatch logs the errors that end kopf's operator."""
    logger.debug("kopf left an error behind: %s", context.get("message"), exc_info=context.get("exception"))


def _settings() -> kopf.OperatorSettings:
    import kopf

    settings = kopf.OperatorSettings()
    settings.scanning.disabled = True  # kopf's watches of CRDs and namespaces would need more rights
    settings.posting.enabled = False  # moorage records its own events
    settings.peering.standalone = True  # a Lease decides which replica binds
    settings.process.ultimate_exiting_timeout = None  # kopf must not kill this process
    settings.networking.request_timeout = 30
    settings.networking.connect_timeout = 5
    settings.networking.error_backoffs = RETRY_SECONDS
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 330
    settings.watching.inactivity_timeout = 90  # bookmarks arrive about every minute
    return settings
