"""The log of the process: no forged lines, no control characters, and no kopf lines that repeat moorage's lines."""

from __future__ import annotations

import json
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
def test_the_log_omits_kopfs_lines_about_failed_requests(level: str) -> None:
    configure_logging(level, "text")
    for name in ("kopf._cogs.clients.api", "kopf._cogs.clients.watching", "kopf._core.reactor.observation"):
        assert not logging.getLogger(name).isEnabledFor(logging.ERROR)
    assert logging.getLogger("kopf.activities.authentication").isEnabledFor(logging.ERROR)
    assert logging.getLogger("moorage.controller.policy_watch").isEnabledFor(logging.INFO)


HOSTILE = "refused\n2026-01-01 00:00:00,000 INFO    moorage: \x1b[2Jall is well\u202e\x9b1m\ud800" + "x" * (16 << 20)


def log_hostile_text(format_: str) -> None:
    configure_logging("info", format_)
    logging.getLogger("moorage.test").error("extender %s", HOSTILE, exc_info=ValueError(HOSTILE))


def test_text_lines_have_no_control_characters_and_exceptions_are_indented(capfd: pytest.CaptureFixture[str]) -> None:
    log_hostile_text("text")
    first, *others = capfd.readouterr().err.rstrip("\n").split("\n")
    assert "moorage.test: extender refused 2026-01-01 00:00:00,000 INFO    moorage: all is well" in first
    assert others
    assert all(line.startswith("    ") for line in others)
    assert all(line.isprintable() for line in (first, *others))
    assert len(first) < 10_000


def test_a_json_record_is_one_line_without_control_characters(capfd: pytest.CaptureFixture[str]) -> None:
    log_hostile_text("json")
    (line,) = capfd.readouterr().err.rstrip("\n").split("\n")
    record = json.loads(line)
    assert line.isprintable()
    assert record["msg"].startswith("extender refused 2026-01-01")
    assert len(line) < 50_000
    assert record["exception"]
