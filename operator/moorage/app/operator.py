"""The operator's life: everything started in order, and stopped in the reverse one.

    credentials -> serving -> informers, lease -> policies -> (synced, leading) -> scheduling

A pod is only tried once every informer and the policies have synced and this replica leads. On SIGTERM nothing new is
decided, what is being bound is finished and told, and the lease is released last.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Coroutine
from contextlib import AsyncExitStack, suppress
from random import Random, SystemRandom
from typing import Any, TypeVar
from uuid import uuid4

import msgspec

from moorage import __version__
from moorage.app.connections import Connections, find_credentials, kopf_session, serving_tls
from moorage.app.election import Election
from moorage.app.endpoint_sources import EndpointParts, endpoint_sources
from moorage.app.process import Parts, World
from moorage.configuration.process_configuration import ProcessConfiguration
from moorage.controller.policy_keeper import receiver_in
from moorage.controller.policy_watch import PolicyWatch
from moorage.errors import MoorageError
from moorage.runtime.api_resources import SCHEDULING_POLICY
from moorage.runtime.clock import SystemClock
from moorage.runtime.events.event_recorder import EventRecorder
from moorage.runtime.informers.list_watch import ListWatch
from moorage.runtime.leadership.elector import LeaderElector
from moorage.runtime.metrics.process_metrics import ProcessMetrics
from moorage.runtime.serving.delegated_auth import DelegatedAuth
from moorage.runtime.serving.health_server import OPEN_PATHS, HealthServer, ServingSecurity, in_url, is_loopback

logger = logging.getLogger(__name__)

T = TypeVar("T")

DRAIN_SECONDS = 10.0
"""How long bindings under way may take at the end."""
TELL_SECONDS = 1.0
"""How long events about them may take then: the next leader waits."""
DRAIN_POLL_SECONDS = 0.05


class Operator:
    """One process of moorage."""

    def __init__(self, configuration: ProcessConfiguration) -> None:
        """Nothing happens before `run`."""
        self._configuration = configuration
        self._settings = configuration.settings
        self._clock = SystemClock()
        self._random = Random(SystemRandom().random())  # noqa: S311 - jitter
        self._stopping = asyncio.Event()

    async def run(self) -> int:
        """Run until SIGTERM or SIGINT; return the exit status. A part that fails ends it with status 1."""
        for fault in self._configuration.warnings:
            logger.warning("configuration: %s", fault)
        if names := ", ".join(profile.name for profile in self._configuration.profiles):
            logger.info("profiles of the configuration file are live: schedulerName %s", names)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._stopping.set)
        status = 0
        try:
            async with AsyncExitStack() as stack:
                await self._run(stack)
        except* MoorageError as errors:
            for error in errors.exceptions:
                logger.error("%s", error)  # noqa: TRY400 - a sentence for users, no traceback
            status = 1
        return status

    async def _run(self, stack: AsyncExitStack) -> None:
        credentials = await _unless(self._stopping, find_credentials(self._settings, self._clock))
        if credentials is None:
            logger.info("stopping: nothing was begun")
            return
        metrics = ProcessMetrics(credentials.server.partition("://")[2])
        connections = Connections(self._settings, credentials, self._clock, metrics.client, stack)
        election = await self._election(connections, metrics)
        may_write = election.elector.may_write if election else _always
        client = await connections.main_client(may_write)
        world = World(
            client=client,
            extender_ports=await connections.extender_context(client, metrics.extenders, may_write),
            clock=self._clock,
            random=self._random,
            metrics=metrics,
            may_write=may_write,
        )
        parts = Parts(self._configuration, world)
        await self._serve(parts, election, connections)
        async with asyncio.TaskGroup() as tasks:
            await self._live(parts, election, tasks)

    async def _election(self, connections: Connections, metrics: ProcessMetrics) -> Election | None:
        settings = self._settings.leader_election
        if not settings.enabled:
            return None
        hostname = socket.gethostname()
        identity = f"{os.environ.get('POD_NAME') or hostname}_{uuid4()}"
        client = await connections.unfenced_client()
        elector = LeaderElector(client, identity, settings, self._clock, self._random)
        election = Election(settings, elector, EventRecorder(client, hostname, self._clock, metrics.recorder))
        words = "Whether the reporting system is master of the lease, 0 indicates backup, 1 indicates master."
        metrics.read_at_scrape("leader_election_master_status", words, ("name",), election.master_status)
        return election

    async def _serve(self, parts: Parts, election: Election | None, connections: Connections) -> None:
        vitals = EndpointParts(
            settings=self._settings,
            scheduler=parts.scheduler,
            loop=parts.loop,
            informers=tuple(parts.informers.values()),
            policies_known=lambda: parts.keeper.has_synced,
            lease_fault=election.fault if election else str,
            metrics=parts.world.metrics,
            clock=self._clock,
        )
        address = self._settings.bind_address
        is_plain = self._settings.serve_plain_http or is_loopback(address)
        server = HealthServer(endpoint_sources(vitals), None if is_plain else await self._security(connections))
        port = await server.start(address, self._settings.port)
        connections.stack.push_async_callback(server.stop)
        scheme = "http" if is_plain else "https"
        logger.info("moorage %s, serving on %s://%s:%d", __version__, scheme, in_url(address), port)

    async def _security(self, connections: Connections) -> ServingSecurity:
        auth = DelegatedAuth(await connections.unfenced_client(), self._clock, OPEN_PATHS)
        return ServingSecurity(context=serving_tls(self._settings), middleware=auth.middleware)

    async def _live(self, parts: Parts, election: Election | None, tasks: asyncio.TaskGroup) -> None:
        """Start, wait for the signal, and stop. The lease ends last: until then nobody else may bind."""
        lease = [tasks.create_task(election.run(parts.inbox.wake), name="leader-election")] if election else []
        background = [tasks.create_task(run(), name=name) for name, run in parts.background().items()]
        receive = receiver_in(asyncio.get_running_loop(), parts.keeper)
        watch = PolicyWatch(receive, kopf_session(self._settings))
        listing = parts.keeper.keep_listing(lambda: _policies(parts), watch.start, self._settings.policy_resync_seconds)
        background.append(tasks.create_task(listing, name="policy-lists"))
        scheduling = tasks.create_task(parts.loop.run(), name="scheduling-loop")
        try:
            await self._stopping.wait()
            logger.info("stopping: what is being bound is finished first")
            scheduling.cancel()
            await _drain(parts)
        finally:
            for task in (scheduling, *background, *lease):
                task.cancel()
            await asyncio.to_thread(watch.stop)  # takes its time, while the lease is released already


async def _policies(parts: Parts) -> list[dict[str, Any]]:
    source = ListWatch(parts.world.client, SCHEDULING_POLICY, parts.world.random)
    return [msgspec.json.decode(raw) async for page in source.pages() for raw in page]


async def _drain(parts: Parts) -> None:
    """Wait until nothing is being bound, and a little for all of it to be told."""
    parts.stop_deciding()
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            while parts.unfinished:  # noqa: ASYNC110 - many owners, once in a life
                await asyncio.sleep(DRAIN_POLL_SECONDS)
        async with asyncio.timeout(TELL_SECONDS):
            parts.status_reporter.report(parts.facts())
            await parts.policy_statuses.flush()
            while parts.untold:  # noqa: ASYNC110 - the same
                await asyncio.sleep(DRAIN_POLL_SECONDS)


async def _unless(stopping: asyncio.Event, beginning: Coroutine[Any, Any, T]) -> T | None:
    """Return what `beginning` comes to; where `stopping` is set first, cancel it and return None."""
    tasks = beginning_task, _ = asyncio.create_task(beginning), asyncio.create_task(stopping.wait())
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return await beginning_task if beginning_task.done() else None
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _always() -> bool:
    """Answer for a process that is alone."""
    return True
