"""Opens a client of the API server for a command that ends, such as `moorage dump`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from moorage.app.connections import Connections, find_credentials
from moorage.runtime.client.fence import always
from moorage.runtime.client.kube import KubeClient
from moorage.runtime.clock import Clock
from moorage.runtime.metrics.process_metrics import ProcessMetrics
from moorage.settings import Settings


@asynccontextmanager
async def open_command_client(settings: Settings, clock: Clock) -> AsyncIterator[KubeClient]:
    """Open a client with the credentials that the settings name. Raise CredentialsError if there are none."""
    credentials = await find_credentials(settings, clock)
    metrics = ProcessMetrics(credentials.server.partition("://")[2])
    async with AsyncExitStack() as stack:
        yield await Connections(settings, credentials, clock, metrics.client, stack).open_client(always)
