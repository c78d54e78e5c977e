"""The credentials of a kubeconfig's user, which may change while the process runs.

Tokens and certificates come from the kubeconfig itself, from files that it names, or from a credential plugin. After
the first good read only `load` raises: the last good credentials stay in use until new ones can be read.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from moorage.errors import CredentialsError
from moorage.runtime.client.authentication import REREAD_SECONDS
from moorage.runtime.client.kubeconfig import choose_context
from moorage.runtime.client.kubeconfig_checks import check_context
from moorage.runtime.client.kubeconfig_files import files_of, read_kubeconfigs, stamp_of
from moorage.runtime.client.kubeconfig_identity import identity_of
from moorage.runtime.fault_log import FaultLog

if TYPE_CHECKING:
    from moorage.runtime.client.kubeconfig import ChosenContext
    from moorage.runtime.client.kubeconfig_identity import Identity
    from moorage.runtime.clock import Clock
    from moorage.runtime.tls.tls_contexts import ClientTls

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 1.0
"""How long a request waits for new credentials while the last ones still work. A plugin may take much longer."""


class KubeconfigTokens:
    """The token and the TLS settings of a kubeconfig's context."""

    def __init__(
        self, paths: str, context: str | None, clock: Clock, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        """Read nothing before `load`. `paths` is a list of files as in $KUBECONFIG."""
        self._paths = paths
        self._context = context
        self._clock = clock
        self._patience_seconds = patience_seconds
        self._faults = FaultLog(logger, f"The kubeconfig {paths}")
        self._refreshing = asyncio.Lock()
        self._background: asyncio.Task[None] | None = None
        self._refreshes = 0
        self._checked_at = 0.0
        self._stamps: object = None
        self._chosen: ChosenContext
        self._identity: Identity

    async def load(self) -> ChosenContext:
        """Read everything, run the plugin, and return the context; raise CredentialsError."""
        self._checked_at = self._clock.monotonic()
        stamps = [stamp_of(file) for file in files_of(self._paths)]
        chosen = choose_context(read_kubeconfigs(self._paths), self._context)
        check_context(chosen)
        identity = await identity_of(chosen)
        self._stamps, self._chosen, self._identity = stamps, chosen, identity
        return chosen

    def tls(self) -> ClientTls:
        """Return the present TLS settings."""
        return self._identity.tls

    async def current(self) -> str | None:
        """Return the header; every REREAD_SECONDS check whether it has to be read again.

        A plugin that takes long goes on in the background: a leader that waited for it would lose its lease.
        """
        if self._clock.monotonic() - self._checked_at >= REREAD_SECONDS:
            self._background = asyncio.create_task(self._refresh(is_refused=False), name="credentials")
            done, _ = await asyncio.wait([self._background], timeout=self._patience_seconds)
            for task in done:
                task.result()  # raises what the task raised
        return self._identity.header

    async def renew(self) -> str | None:
        """Read everything again and run the plugin."""
        await self._refresh(is_refused=True)
        return self._identity.header

    async def _refresh(self, *, is_refused: bool) -> None:
        """Refresh once for all waiting callers: the API server may refuse many requests at a time."""
        refreshes = self._refreshes
        async with self._refreshing:
            if refreshes != self._refreshes:
                return
            self._checked_at = self._clock.monotonic()
            try:
                if is_refused or self._stamps != [stamp_of(file) for file in files_of(self._paths)]:
                    await self.load()
                elif self._clock.time() >= self._identity.stale_at:
                    self._identity = await identity_of(self._chosen)
            except CredentialsError as error:
                self._faults.report(error)
            else:
                self._faults.end()
            self._refreshes += 1
