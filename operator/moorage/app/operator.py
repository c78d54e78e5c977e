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
from contextlib import AsyncExitStack, suppress
from random import Random, SystemRandom
from typing import Any
from uuid import uuid4

import msgspec

from moorage import __version__
from moorage.app.connections import Connections, find_credentials, kopf_session, serving_tls
from moorage.app.endpoints import Vitals, endpoints
from moorage.app.parts import Parts, World
from moorage.app.policy_keeper import run_in
from moorage.controller.configuration import ProcessConfiguration
from moorage.controller.handlers import PolicyWatch
from moorage.errors import MoorageError
from moorage.runtime.clock import SystemClock
from moorage.runtime.delegated_auth import DelegatedAuth
from moorage.runtime.leader_election import LeaderElector
from moorage.runtime.metrics import Metrics
from moorage.runtime.resources import SCHEDULING_POLICY
from moorage.runtime.server import OPEN_PATHS, HealthServer, Security, is_loopback

logger = logging.getLogger(__name__)

DRAIN_SECONDS = 10.0
"""How long bindings under way, and events about them, may take at the end."""
DRAIN_POLL_SECONDS = 0.05
UNRENEWED_SECONDS = 20.0
"""A leader is unhealthy that has not renewed for this much longer than the lease lasts (as kube-scheduler)."""


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
        credentials = await find_credentials(self._settings, self._clock)
        metrics = Metrics(credentials.server.partition("://")[2])
        connections = Connections(self._settings, credentials, self._clock, metrics.client, stack)
        elector = await self._elector(connections)
        may_write = elector.may_write if elector else _always
        client = await connections.main_client(may_write)
        world = World(
            client=client,
            extender_ports=await connections.extender_ports(client, metrics.extenders, may_write),
            clock=self._clock,
            random=self._random,
            metrics=metrics,
            may_write=may_write,
        )
        parts = Parts(self._configuration, world)
        await self._serve(parts, elector, connections)
        async with asyncio.TaskGroup() as tasks:
            await self._live(parts, elector, tasks)

    async def _elector(self, connections: Connections) -> LeaderElector | None:
        if not self._settings.leader_election.enabled:
            return None
        identity = f"{os.environ.get('POD_NAME') or socket.gethostname()}_{uuid4()}"
        client = await connections.unfenced_client()
        return LeaderElector(client, identity, self._settings.leader_election, self._clock, self._random)

    async def _serve(self, parts: Parts, elector: LeaderElector | None, connections: Connections) -> None:
        vitals = Vitals(
            settings=self._settings,
            scheduler=parts.scheduler,
            loop=parts.loop,
            informers=tuple(parts.informers.values()),
            policies_known=lambda: parts.keeper.has_synced,
            lease_fault=lambda: self._lease_fault(elector),
            metrics=parts.world.metrics,
            clock=self._clock,
        )
        address = self._settings.bind_address
        is_plain = self._settings.serve_plain_http or is_loopback(address)
        server = HealthServer(endpoints(vitals), None if is_plain else await self._security(connections))
        port = await server.start(address, self._settings.port)
        connections.stack.push_async_callback(server.stop)
        logger.info("moorage %s, serving on %s://%s:%d", __version__, "http" if is_plain else "https", address, port)

    async def _security(self, connections: Connections) -> Security:
        auth = DelegatedAuth(await connections.unfenced_client(), self._clock, OPEN_PATHS)
        return Security(context=serving_tls(self._settings), middleware=auth.middleware)

    async def _live(self, parts: Parts, elector: LeaderElector | None, tasks: asyncio.TaskGroup) -> None:
        """Start, wait for the signal, and stop. The lease ends last: until then nobody else may bind."""
        lease = self._lead(parts, elector, tasks)
        background = [tasks.create_task(run(), name=name) for name, run in parts.background().items()]
        receive = run_in(asyncio.get_running_loop(), parts.keeper)
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
            await asyncio.to_thread(watch.stop)
            for task in (scheduling, *background, *lease):
                task.cancel()

    def _lead(self, parts: Parts, elector: LeaderElector | None, tasks: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        if elector is None:
            return []

        def changed(leads: bool, event: Any) -> None:  # noqa: FBT001 - the elector's callback
            parts.recorder.record(event)
            if leads:
                parts.inbox.wake()

        elector.changed = changed
        return [tasks.create_task(elector.run(), name="leader-election")]

    def _lease_fault(self, elector: LeaderElector | None) -> str:
        if elector is None or not elector.leads:
            return ""
        limit = self._settings.leader_election.lease_duration_seconds + UNRENEWED_SECONDS
        silent = elector.seconds_since_renewal
        return f"the lease was not renewed for {silent:.0f} s" if silent > limit else ""


async def _policies(parts: Parts) -> list[dict[str, Any]]:
    body = await parts.world.client.get(SCHEDULING_POLICY.collection)
    items: list[dict[str, Any]] = msgspec.json.decode(body)["items"]
    return items


async def _drain(parts: Parts) -> None:
    """Wait until nothing is being bound and all of it is told."""
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            while parts.unfinished:  # noqa: ASYNC110 - many owners, once in a life
                await asyncio.sleep(DRAIN_POLL_SECONDS)
            parts.keeper.report(parts.facts)
            await parts.policy_statuses.flush()


def _always() -> bool:
    """Answer for a process that is alone."""
    return True
