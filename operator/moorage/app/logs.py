"""Logging to stderr, as text or as JSON. No logged character can forge a line or control a terminal.

Each record is one line. In the text format, the indented lines of an exception follow.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from moorage.errors import ConfigurationError, Fault
from moorage.outside_text import CHARACTERS, one_line

TEXT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
INDENT = "    "
MESSAGE_CHARACTERS = 8 * CHARACTERS
EXCEPTION_CHARACTERS = 32 * CHARACTERS
QUIET = {
    "kopf": logging.WARNING,
    "kopf._cogs.clients": logging.CRITICAL,  # logs each failed try; PolicyWatch logs the outage
    "kopf._core.reactor": logging.CRITICAL,  # logs failed tries too, and a warning about signals
    "aiohttp": logging.WARNING,
}
"""The lowest logged level of each library."""


def configure_logging(level: str, format_: str) -> None:
    """Set up the root logger; raise ConfigurationError for an unknown level or format."""
    numeric = logging.getLevelNamesMapping().get(level.upper())
    if numeric is None:
        raise ConfigurationError(
            [Fault(("--log-level",), None, f"must be debug, info, warning or error, not {level!r}")]
        )
    if format_ not in {"text", "json"}:
        raise ConfigurationError([Fault(("--log-format",), None, f"must be text or json, not {format_!r}")])
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if format_ == "json" else TextFormatter(TEXT))
    logging.basicConfig(level=numeric, handlers=[handler], force=True)
    for name, least in QUIET.items():
        logging.getLogger(name).setLevel(max(numeric, least))


class TextFormatter(logging.Formatter):
    """Formats each record as one line, with the exception in indented lines below."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """Return the line without the exception."""
        record.message = one_line(record.message, MESSAGE_CHARACTERS)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name
        """Return the traceback, each line indented."""
        return "\n".join(INDENT + line for line in _lines_of(super().formatException(ei)))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802 - logging's name
        """Return the stack, each line indented."""
        return "\n".join(INDENT + line for line in _lines_of(stack_info))


class JsonFormatter(logging.Formatter):
    """Formats each record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return time (RFC 3339, UTC), level, logger, message and, if there is one, the exception."""
        fields = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": one_line(record.getMessage(), MESSAGE_CHARACTERS),
        }
        if record.exc_info:
            fields["exception"] = "\n".join(_lines_of(self.formatException(record.exc_info)))
        return json.dumps(fields, ensure_ascii=False)


def _lines_of(text: str) -> list[str]:
    """Return the lines of a traceback. Cut a long traceback at its start, because the end contains the exception."""
    lines = text[-EXCEPTION_CHARACTERS:].splitlines()
    return [one_line(line) for line in lines]
