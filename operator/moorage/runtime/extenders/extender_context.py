"""The dependencies of all extenders of the process, and the limits on their calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import ClientSession, DummyCookieJar

import moorage
from moorage.runtime.extenders.answer_budget import AnswerBudget
from moorage.runtime.extenders.answer_parsing import LimitedConnector

if TYPE_CHECKING:
    from ssl import SSLContext

    from moorage.model.pods.pod import Pod
    from moorage.runtime.clock import Clock
    from moorage.runtime.metrics.extender_metrics import ExtenderMetrics

IDLE_CONNECTION_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtenderContext:
    """The parts that every extender uses."""

    session: ClientSession
    """A session from `open_extender_session`. It must not be the session for the API server."""
    clock: Clock
    metrics: ExtenderMetrics
    may_write: Callable[[], bool]
    """Whether this replica leads; checked before an extender binds a pod."""
    read_pod: Callable[[Pod], Awaitable[bytes]]
    """Reads a pod's object. Raises NotFound for a deleted pod, another ApiError, or ApiUnreachable."""
    policy_files: Path | None = None
    """The directory of the files that extenders of policies may name. None if they may name no files."""
    tls_strict: bool = False
    """Whether certificates of extenders are checked strictly; see `ClientTls.context`."""
    long_answers: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    """Limits how many long answers are decoded at once. Decoding needs up to forty times the memory of the answer."""
    answers: AnswerBudget = field(default_factory=AnswerBudget)
    """The limit on the bytes of all answers together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtenderLimits:
    """Limits on calls."""

    parallelism: int = 16
    """Number of pods for which a profile's extenders are called at the same time; upstream's default parallelism."""
    cycle_seconds: float = 30.0
    """The time limit for the calls of all extenders for one pod: six times upstream's default timeout of one call."""
    request_bytes: int = 128 << 20
    """The maximum bytes of the nodes or of the victims' objects in one request: enough for 5,000 nodes of 25 kB."""
    failures_to_open: int = 5
    """Number of failures in a row that opens the circuit breaker."""
    open_seconds: float = 10.0
    """Time that the circuit breaker stays open. The longest backoff of a pod has the same default."""


def open_extender_session(system_tls: SSLContext | None = None) -> ClientSession:
    """Open a session without the API server's credentials. The caller closes it.

    `system_tls` is the context for extenders whose configuration has no TLS settings. The session has no connection
    limit: a hanging extender must not use up other profiles' connections.
    """
    return ClientSession(
        connector=LimitedConnector(limit=0, keepalive_timeout=IDLE_CONNECTION_SECONDS, ssl=system_tls or True),
        headers={
            "User-Agent": f"moorage/{moorage.__version__}",
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
        },
        cookie_jar=DummyCookieJar(),
        trust_env=False,
    )
