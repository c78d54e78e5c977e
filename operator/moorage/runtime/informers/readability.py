"""Tells users, the readiness check and the engine whether the objects of one kind can be read.

    readable --error--> failing, the next try after 0.5 s to 30 s --success--> readable
                           |-- discovery does not name the kind --> absent, the next try after a minute

A refusal is a 403, or a 404 of a kind that discovery names. A refused kind is not absent: an API server that has just
started refuses for some seconds, and an administrator may add a missing role. Scheduling starts without a refused kind
if the kind is optional. It starts at once if the engine holds back the pods that need the kind. Otherwise it starts
after WITHOUT_SECONDS.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from moorage.engine.messages import KindReadable, KindUnreadable
from moorage.engine.unreadable_kinds import BUDGETS, DEVICE_CLASSES, STORAGE
from moorage.errors import ApiError, ApiUnreachable, Forbidden, NotFound
from moorage.runtime.client.reachability import level_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from moorage.engine.messages import Message
    from moorage.runtime.api_resources import Resource
    from moorage.runtime.clock import Clock

logger = logging.getLogger(__name__)

WITHOUT_SECONDS = 15.0
"""The time that the start of scheduling waits for a refused kind that affects scores only."""
LASTING_SECONDS = 5.0
"""A refusal that lasts longer makes the replica unready. Shorter refusals come from an API server that has just
started."""
WAITED_FOR = {BUDGETS, DEVICE_CLASSES, *STORAGE}
"""While one of these kinds cannot be read, the engine holds back the pods that need the kind."""


class Readability:
    """The state of one kind: whether it can be read now, and the reason if it cannot."""

    def __init__(self, resource: Resource, post: Callable[[Iterable[Message]], None], clock: Clock) -> None:
        """Post `KindReadable` and `KindUnreadable` to the engine with `post`."""
        self.has_synced = False
        """Whether all objects were listed and posted, or scheduling starts without the kind."""
        self.missing = ""
        """Why the kind cannot be read; empty if it can be read."""
        self.is_absent = False
        """Whether the API server does not serve the kind."""
        self._resource = resource
        self._post = post
        self._clock = clock
        self._has_listed = False
        self._is_unreadable = False
        self._refused_at: float | None = None
        self._logged: type[Exception] | None = None

    @property
    def is_current(self) -> bool:
        """Whether the known objects are up to date. An absent kind is up to date."""
        return self.has_synced and not self._is_unreadable

    def fault(self) -> str:
        """Return why a replica without this kind is not ready; empty if it is listed or absent."""
        if self.is_absent:
            return ""
        if not self._has_listed:
            return self._summary() or f"{self._resource.plural} are not listed yet"
        since = self._refused_at
        return self._summary() if since is not None and self._clock.monotonic() - since >= LASTING_SECONDS else ""

    def _summary(self) -> str:
        """Return the refusal without the API server's text, because the readiness check shows only short texts."""
        return self.missing.partition(";")[0]

    def listed(self) -> None:
        """Record a complete list."""
        self._has_listed = self.has_synced = True
        self.opened()

    def opened(self) -> None:
        """Record that the API server serves the kind now."""
        self.missing, self.is_absent, self._refused_at = "", False, None
        if self._is_unreadable:
            self._is_unreadable = False
            self._post([KindReadable(self._resource.kind)])

    def end_failures(self) -> None:
        """Log the end of the failures, and log the next failure."""
        if self._logged:
            logger.log(
                logging.INFO if issubclass(self._logged, (Forbidden, NotFound)) else logging.DEBUG,
                "%s can be read again", self._resource.plural,
            )  # fmt: skip
        self._logged = None

    def absent(self) -> None:
        """Record that the API server does not serve the kind."""
        if not self.is_absent:
            message = "The API server does not serve %s; scheduling continues without them"
            logger.info(message, self._resource.permission)
        self.opened()
        self.missing = f"the API server does not serve {self._resource.permission}"
        self.has_synced = self.is_absent = True

    def failed(self, error: ApiError | ApiUnreachable) -> None:
        """Record a failed list or watch. Log it if its type differs from the type of the last failure."""
        is_refused = isinstance(error, (Forbidden, NotFound))
        if is_refused:
            self._refuse(error)
        self._log(error, is_refused=is_refused)
        if not self._resource.optional:
            return
        if not self._is_unreadable:
            text = self.missing if is_refused else f"{self._resource.plural} cannot be read now: {error}"
            self._post([KindUnreadable(self._resource.kind, text, is_refused)])
        self._is_unreadable = True

    def _refuse(self, error: ApiError | ApiUnreachable) -> None:
        resource, now = self._resource, self._clock.monotonic()
        if self._refused_at is None:
            self._refused_at = now
            self._is_unreadable = False  # the engine must receive the refusal even if another failure came before
        self.missing = f"moorage may not list {resource.plural}; grant list and watch on {resource.permission}: {error}"
        if resource.optional and (resource.kind in WAITED_FOR or now - self._refused_at >= WITHOUT_SECONDS):
            self.has_synced = True

    def _log(self, error: ApiError | ApiUnreachable, *, is_refused: bool) -> None:
        if self._logged is type(error):
            return
        self._logged = type(error)
        if is_refused:
            logger.warning(
                "%s%s", self.missing, "; pods that do not need them are scheduled" if self._resource.optional else ""
            )
        else:
            message = "%s cannot be read; retrying until they can: %s"
            logger.log(level_of(error), message, self._resource.plural, error)
