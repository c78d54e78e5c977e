"""The process's log leaves out lines of libraries that other lines replace."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from moorage.app.logs import QUIET, configure_logging


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, levels = root.handlers[:], {name: logging.getLogger(name).level for name in ("", *QUIET)}
    yield
    root.handlers[:] = handlers
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


@pytest.mark.parametrize("level", ["debug", "info"])
def test_kopfs_own_lines_about_failed_requests_are_left_out(level: str) -> None:
    configure_logging(level, "text")
    for name in ("kopf._cogs.clients.api", "kopf._cogs.clients.watching", "kopf._core.reactor.observation"):
        assert not logging.getLogger(name).isEnabledFor(logging.ERROR)
    assert logging.getLogger("kopf.activities.authentication").isEnabledFor(logging.ERROR)
    assert logging.getLogger("moorage.controller.policy_watch").isEnabledFor(logging.INFO)
