"""PolicyWatch delivers events of a real HTTP watch from kopf's thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fakes import Cluster, FakeClock, StaticTokens, until
from moorage.api.crd import crd
from moorage.api.v1alpha1 import API_VERSION, KIND
from moorage.controller.policy_watch import PolicyWatch
from moorage.errors import CredentialsError
from moorage.runtime.api_resources import SCHEDULING_POLICY
from moorage.runtime.client.credentials import Credentials
from moorage.runtime.client.server_access import ServerAccess
from moorage.runtime.client.session_transport import open_session
from moorage.sandbox.api_server import SandboxServer
from moorage.sandbox.injected_faults import Fail

REQUESTS_OF_ONE_OPERATOR = 4
"""The number of times that kopf sends a request before its operator ends: once, and once after each pause."""


def policy(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec}


class PolicyCluster(Cluster):
    """An embedded API server with the CRD."""

    def __init__(self) -> None:
        self.server = SandboxServer(kubelet=False, crds=[crd()])


class Watching:
    """A watch of a cluster, and the events that it received."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.events: list[tuple[str, str]] = []
        self.refused_sessions = 0
        """The number of further sessions that fail because there are no credentials."""
        self.unhandled: Exception | None = None
        """An exception that kopf's event loop reports as unhandled when a session is opened."""
        self.watch = PolicyWatch(self.receive, self.open_session)

    def receive(self, type_: str, manifest: Mapping[str, Any]) -> None:
        self.events.append((type_, manifest["metadata"]["name"]))

    async def open_session(self) -> tuple[Any, str]:
        if self.refused_sessions:
            self.refused_sessions -= 1
            raise CredentialsError("the kubeconfig has no token")
        if self.unhandled:
            context = {"message": "Task exception was never retrieved", "exception": self.unhandled}
            asyncio.get_running_loop().call_exception_handler(context)
        server = self.cluster.server
        credentials = Credentials(server.url, StaticTokens(f"Bearer {server.token}"))
        return open_session(ServerAccess(credentials, FakeClock()), connection_limit=4), server.url

    async def received(self, *events: tuple[str, str]) -> None:
        await until(lambda: self.events == list(events), seconds=30)


@asynccontextmanager
async def watching(
    fault: Fail | None = None, times: int = 0, refused_sessions: int = 0, unhandled: Exception | None = None
) -> AsyncIterator[Watching]:
    """Watch a cluster with one policy. `fault` is the answer to the first requests for policies."""
    async with PolicyCluster() as cluster:
        await cluster.create(SCHEDULING_POLICY, policy("first"))
        if fault:
            cluster.server.faults.add(fault, verb="list", path="/schedulingpolicies", times=times)
        made = Watching(cluster)
        made.refused_sessions = refused_sessions
        made.unhandled = unhandled
        made.watch.start()
        try:
            yield made
        finally:
            await asyncio.to_thread(made.watch.stop)


def own_messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "moorage.controller.policy_watch"]


async def test_events_of_listed_policies_have_no_type_and_events_of_changes_have_a_type() -> None:
    async with watching() as made:
        await made.received(("", "first"))
        await made.cluster.create(SCHEDULING_POLICY, policy("second"))
        await made.cluster.merge(SCHEDULING_POLICY.path("second"), {"spec": {"paused": True}})
        await made.cluster.client.delete(SCHEDULING_POLICY.path("second"), b"")
        await made.received(("", "first"), ("ADDED", "second"), ("MODIFIED", "second"), ("DELETED", "second"))


async def test_kopf_only_reads() -> None:
    async with watching() as made:
        await made.received(("", "first"))
        creation, *requests = made.cluster.server.requests
    assert creation.method == "POST"
    assert {request.method for request in requests} == {"GET"}


async def test_an_unhandled_error_in_kopfs_event_loop_is_logged_at_debug_only(caplog: pytest.LogCaptureFixture) -> None:
    """kopf leaves tasks behind when the server goes away. asyncio would print a traceback for each of them."""
    caplog.set_level(logging.DEBUG)
    async with watching(unhandled=OSError("gone")) as made:
        await made.received(("", "first"))
    assert [record.levelname for record in caplog.records if record.exc_info] == ["DEBUG"]


@pytest.mark.slow
async def test_missing_credentials_are_logged_once_and_requested_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with watching(refused_sessions=1) as made:
        await made.received(("", "first"))
    failed, recovered = own_messages(caplog)
    assert failed.endswith("failed; trying again within 5 s: CredentialsError: the kubeconfig has no token")
    assert recovered == "The watch of SchedulingPolicies works again"


@pytest.mark.slow
async def test_an_operator_that_kopf_ended_is_restarted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    forbidden = Fail(403, message="no role")
    async with watching(forbidden, times=REQUESTS_OF_ONE_OPERATOR) as made:
        await made.received(("", "first"))
    failed, recovered = own_messages(caplog)
    assert failed.startswith("The watch of SchedulingPolicies failed; trying again within 5 s: APIForbiddenError: ")
    assert recovered == "The watch of SchedulingPolicies works again"
