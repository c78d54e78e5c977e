"""Runs the operator: starts all parts in order, and stops them in reverse order.

    credentials -> serving -> informers, lease -> policies -> (synced, leading) -> scheduling

Scheduling starts when all informers and the policies have synced and this replica leads. On SIGTERM, scheduling stops,
the bindings in progress end and are reported, and the lease is released last.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Coroutine, Mapping
from contextlib import AsyncExitStack, suppress
from functools import partial
from random import Random, SystemRandom
from typing import Any, TypeVar
from uuid import uuid4

from moorage import __version__
from moorage.app.connections import Connections, find_credentials, serving_tls
from moorage.app.crash_reporting import reporting_crashes
from moorage.app.election import Election
from moorage.app.endpoint_sources import endpoint_sources
from moorage.app.environment import Environment
from moorage.app.process import Process, build_process
from moorage.configuration.process_configuration import ProcessConfiguration
from moorage.controller.policy_poll import PolicyPoll
from moorage.controller.policy_watch import EventReceiver, PolicyWatch, SessionOpener
from moorage.engine.messages import LeadershipStarted
from moorage.errors import MoorageError
from moorage.runtime.client.rights_review import RightsReview
from moorage.runtime.clock import Clock
from moorage.runtime.events.event_recorder import EventRecorder
from moorage.runtime.leadership.elector import LeaderElector
from moorage.runtime.metrics.process_metrics import ProcessMetrics
from moorage.runtime.metrics.serving_metrics import ServingMetrics
from moorage.runtime.serving.delegated_auth import DelegatedAuth
from moorage.runtime.serving.health_server import OPEN_PATHS, HealthServer, ServingSecurity, in_url, is_loopback

logger = logging.getLogger(__name__)

T = TypeVar("T")

DRAIN_SECONDS = 10.0
"""The maximum time that a stop waits for the bindings in progress."""
REPORT_SECONDS = 1.0
"""The maximum time that a stop then waits for events and statuses. It is short, because the next leader waits for the
lease."""
DRAIN_POLL_SECONDS = 0.05


class Operator:
    """One process of moorage."""

    def __init__(self, configuration: ProcessConfiguration) -> None:
        """Prepare the operator; `run` starts it."""
        self._configuration = configuration
        self._settings = configuration.settings
        self._clock = Clock()
        self._random = Random(SystemRandom().random())  # noqa: S311 - jitter
        self._stopping = asyncio.Event()

    async def run(self) -> int:
        """Run until SIGTERM or SIGINT; return the exit status, which is 1 if a part fails."""
        for fault in self._configuration.warnings:
            logger.warning("configuration: %s", fault)
        if names := ", ".join(profile.name for profile in self._configuration.profiles):
            logger.info("The configuration file has profiles for the schedulerNames %s", names)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._stopping.set)
        status = 0
        try:
            async with AsyncExitStack() as stack:
                await self._run(stack)
        except* MoorageError as errors:
            for error in errors.exceptions:
                logger.error("%s", error)  # noqa: TRY400 - a sentence for users, without a traceback
            status = 1
        return status

    async def _run(self, stack: AsyncExitStack) -> None:
        credentials = await _run_unless(self._stopping, find_credentials(self._settings, self._clock))
        if credentials is None:
            logger.info("stopping before the credentials were loaded")
            return
        metrics = ProcessMetrics(credentials.server.partition("://")[2])
        connections = Connections(self._settings, credentials, self._clock, metrics.client, stack)
        election = await self._build_election(connections, metrics)
        may_write = election.elector.may_write if election else _always
        client = await connections.open_client(may_write)
        environment = Environment(
            client=client,
            extender_context=await connections.open_extender_context(client, metrics.extenders, may_write),
            clock=self._clock,
            random=self._random,
            metrics=metrics,
            may_write=may_write,
            rights=connections.rights,
            api_server_fault=connections.reachability.fault,
        )
        process = build_process(self._configuration, environment)
        await self._serve(process, election, connections)
        review = RightsReview(connections.rights, await connections.open_unfenced_client(), self._clock)
        async with reporting_crashes(process.recordings), asyncio.TaskGroup() as tasks:
            reviewing = tasks.create_task(review.run(), name="rights-review")
            await self._run_process(process, election, connections.kopf_session(), tasks)
            reviewing.cancel()

    async def _build_election(self, connections: Connections, metrics: ProcessMetrics) -> Election | None:
        settings = self._settings.leader_election
        if not settings.enabled:
            return None
        hostname = socket.gethostname()
        identity = f"{os.environ.get('POD_NAME') or hostname}_{uuid4()}"
        client = await connections.open_unfenced_client()
        elector = LeaderElector(client, identity, settings, self._clock, self._random)
        namespace, pod = os.environ.get("POD_NAMESPACE"), os.environ.get("POD_NAME")
        elector.pod = f"{namespace}/{pod}" if namespace and pod else ""
        election = Election(settings, elector, EventRecorder(client, hostname, self._clock, metrics.recorder))
        description = "Whether the reporting system is master of the lease, 0 indicates backup, 1 indicates master."
        metrics.read_at_scrape("leader_election_master_status", description, ("name",), election.master_status)
        return election

    async def _serve(self, process: Process, election: Election | None, connections: Connections) -> None:
        """Start the HTTP endpoints; `connections.stack` stops them."""
        sources = endpoint_sources(process, self._settings, election)
        address = self._settings.bind_address
        is_plain = self._settings.serve_plain_http or is_loopback(address)
        serving = process.environment.metrics.serving
        server = HealthServer(sources, serving, None if is_plain else await self._build_security(connections, serving))
        port = await server.start(address, self._settings.port)
        connections.stack.push_async_callback(server.stop)
        scheme = "http" if is_plain else "https"
        logger.info("moorage %s, serving on %s://%s:%d", __version__, scheme, in_url(address), port)

    async def _build_security(self, connections: Connections, metrics: ServingMetrics) -> ServingSecurity:
        auth = DelegatedAuth(await connections.open_unfenced_client(), self._clock, OPEN_PATHS, metrics)
        return ServingSecurity(
            context=serving_tls(self._settings),
            middleware=auth.middleware,
            readable_namespaces=auth.readable_namespaces,
        )

    async def _run_process(
        self, process: Process, election: Election | None, open_session: SessionOpener, tasks: asyncio.TaskGroup
    ) -> None:
        """Start all tasks, wait for the signal, and stop them. The lease is released after the bindings in progress."""
        started = partial(process.inbox.post, LeadershipStarted())
        lease = [tasks.create_task(election.run(started), name="leader-election")] if election else []
        background = [tasks.create_task(run(), name=name) for name, run in process.background.items()]
        controller, environment = process.policy_controller, process.environment
        poll = PolicyPoll(environment.client, environment.random, controller.receive, environment.clock)
        loop = asyncio.get_running_loop()
        watch = PolicyWatch(partial(_call_in, loop, poll.receive_from_watch), open_session)
        poll.restart_watch = watch.restart
        listing = controller.run(poll.list, poll.follow, watch.start, self._settings.policy_resync_seconds)
        background.append(tasks.create_task(listing, name="policy-lists"))
        process.recordings.start_configured()
        scheduling = tasks.create_task(process.loop.run(), name="scheduling-loop")
        try:
            await self._stopping.wait()
            logger.info("stopping after the bindings in progress have ended")
            scheduling.cancel()
            await _drain(process)
        finally:
            for task in (scheduling, *background, *lease):
                task.cancel()
            await process.recordings.stop()
            await asyncio.to_thread(watch.stop)  # this is slow, but the lease is already released


def _call_in(loop: asyncio.AbstractEventLoop, receive: EventReceiver, type_: str, manifest: Mapping[str, Any]) -> None:
    """Pass an event from another thread to `receive` in the event loop `loop`."""
    loop.call_soon_threadsafe(receive, type_, manifest)


async def _drain(process: Process) -> None:
    """Wait for the end of the bindings in progress, and then at most REPORT_SECONDS for their reports.

    The next leader takes over queued decisions and pods that wait for volumes.
    """
    process.binder.drop_queued()
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            while len(process.binder):  # noqa: ASYNC110 - runs once, at the end
                await asyncio.sleep(DRAIN_POLL_SECONDS)
        async with asyncio.timeout(REPORT_SECONDS):
            process.status_reporter.report(process.facts())
            await process.policy_statuses.flush()
            while process.unsent_reports:  # noqa: ASYNC110 - runs once, at the end
                await asyncio.sleep(DRAIN_POLL_SECONDS)


async def _run_unless(stopping: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """Return the result of `work`. If `stopping` is set before the end of `work`, cancel `work` and return None."""
    tasks = work_task, _ = asyncio.create_task(work), asyncio.create_task(stopping.wait())
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return await work_task if work_task.done() else None
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _always() -> bool:
    """Return True, because a process without leader election may always write."""
    return True
