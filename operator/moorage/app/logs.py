"""Logging to stderr: one line a record, as text or as JSON."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from moorage.errors import ConfigurationError, Fault

TEXT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
QUIET = {
    "kopf": logging.WARNING,
    "kopf._cogs.clients": logging.CRITICAL,  # logs each failed try; PolicyWatch logs the outage
    "kopf._core.reactor": logging.CRITICAL,  # the same, and warns that its thread gets no signals, which is intended
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
    handler.setFormatter(JsonFormatter() if format_ == "json" else logging.Formatter(TEXT))
    logging.basicConfig(level=numeric, handlers=[handler], force=True)
    for name, least in QUIET.items():
        logging.getLogger(name).setLevel(max(numeric, least))


class JsonFormatter(logging.Formatter):
    """A formatter that writes each record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return time (RFC 3339, UTC), level, logger, message and, if there is one, the exception."""
        fields = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=False)
