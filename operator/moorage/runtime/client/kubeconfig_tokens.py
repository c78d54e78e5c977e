"""The credentials of a kubeconfig's user, which may change while the process runs.

Tokens and certificates come from the kubeconfig itself, from files that it names, or from a credential plugin. After
the first successful read, only `load` raises errors. The last good credentials stay in use until new credentials can be
read.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

from moorage.errors import CredentialsError
from moorage.runtime.client.authentication import REREAD_SECONDS
from moorage.runtime.client.kubeconfig import choose_context
from moorage.runtime.client.kubeconfig_checks import check_context, check_same_server
from moorage.runtime.client.kubeconfig_files import read_kubeconfigs, stamp_of
from moorage.runtime.client.kubeconfig_identity import identity_of
from moorage.runtime.client.renewal_pace import RenewalPace
from moorage.runtime.fault_log import FaultLog

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from moorage.runtime.client.kubeconfig import ChosenContext
    from moorage.runtime.client.kubeconfig_identity import Identity
    from moorage.runtime.clock import Clock
    from moorage.runtime.tls.tls_contexts import ClientTls

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 1.0
"""The longest time that a request waits for new credentials. A plugin may take longer; the request then uses the last
credentials."""


class KubeconfigTokens:
    """The token and the TLS settings of a kubeconfig's context."""

    def __init__(
        self,
        files: Sequence[Path],
        context: str | None,
        clock: Clock,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        """Take the paths of the kubeconfig; `load` reads them."""
        self._files = files
        self._context = context
        self._clock = clock
        self._patience_seconds = patience_seconds
        self._faults = FaultLog(logger, f"The kubeconfig {':'.join(map(str, files))}")
        self._pace = RenewalPace()
        self._refreshing: asyncio.Task[None] | None = None
        self._checked_at = 0.0
        self._stamps: object = None
        self._chosen: ChosenContext | None = None
        self._identity: Identity

    async def load(self) -> ChosenContext:
        """Read the kubeconfig and its credentials, and return the context; raise CredentialsError if that fails.

        A later call reads the same context. It raises an error if the server has changed, because another server must
        not get these credentials.
        """
        stamps = self._present_stamps()
        chosen = choose_context(read_kubeconfigs(self._files), self._context)
        check_context(chosen)
        if self._chosen:
            check_same_server(self._chosen, chosen)
        await self._read_identity(chosen)
        self._stamps, self._chosen, self._context = stamps, chosen, chosen.name
        self._checked_at = self._clock.monotonic()
        return chosen

    def tls(self) -> ClientTls:
        """Return the current TLS settings."""
        return self._identity.tls

    async def current(self) -> str | None:
        """Return the Authorization header. If the credentials are too old, first read them again.

        A slow plugin continues in the background, because a leader that waited for the plugin would lose its lease.
        """
        if self._is_due() and (self._refreshing is None or self._refreshing.done()):
            done, _ = await asyncio.wait([self._refresh_once(is_refused=False)], timeout=self._patience_seconds)
            for task in done:
                task.result()  # raises what the task raised
        return self._identity.header

    async def renew(self) -> None:
        """Read everything again and run the plugin, but not if the plugin ran just now."""
        await asyncio.shield(self._refresh_once(is_refused=True))

    def _is_due(self) -> bool:
        now = self._clock.monotonic()
        if now - self._checked_at >= REREAD_SECONDS:
            return True
        return self._runs_plugin and self._is_stale() and self._pace.allows_run(now)

    def _is_stale(self) -> bool:
        return self._clock.time() >= self._identity.stale_at

    @property
    def _runs_plugin(self) -> bool:
        return self._chosen is not None and self._chosen.runs_plugin

    def _refresh_once(self, *, is_refused: bool) -> asyncio.Task[None]:
        """Return the task that reads the credentials.

        All callers share the task. It continues if a caller is cancelled.
        """
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._refresh(is_refused=is_refused), name="credentials")
        return self._refreshing

    async def _refresh(self, *, is_refused: bool) -> None:
        self._checked_at = now = self._clock.monotonic()
        read = self._next_read(is_refused=is_refused)
        if read is None or not self._pace.allows_run(now):
            return
        has_helped = not self._runs_plugin  # files cost little, so only plugins get longer pauses
        try:
            await read()
            has_helped = has_helped or not (is_refused or self._is_stale())
        except CredentialsError as error:
            self._faults.report(error)
        else:
            self._faults.end()
        finally:
            self._pace.record_run(now, has_helped=has_helped)

    def _next_read(self, *, is_refused: bool) -> Callable[[], Awaitable[object]] | None:
        """Return the function that reads what must be read again; None if nothing must be read."""
        if self._chosen is None or self._stamps != self._present_stamps():
            return self.load
        return partial(self._read_identity, self._chosen) if is_refused or self._is_stale() else None

    async def _read_identity(self, chosen: ChosenContext) -> None:
        self._identity = await identity_of(chosen, self._clock)

    def _present_stamps(self) -> object:
        return [stamp_of(file) for file in self._files]
