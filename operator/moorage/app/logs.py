"""Logging as the process does it: one line a record on stderr, as text or as JSON."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from moorage.errors import ConfigurationError, Fault

TEXT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
QUIET = {
    "kopf": logging.WARNING,
    "kopf._cogs.clients": logging.CRITICAL,  # tells of each failed try; what they come to, PolicyWatch tells
    "kopf._core.reactor": logging.CRITICAL,  # the same, and that a thread gets no signals, as it should be
    "aiohttp": logging.WARNING,
    "kubernetes": logging.WARNING,
}
"""Libraries whose routine is nobody's business, and the least level that is."""


def configure_logging(level: str, format_: str) -> None:
    """Set up the root logger; ConfigurationError for a level or format that there is not."""
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
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Render time (RFC 3339, UTC), level, logger, message and, if there is one, the exception."""
        fields = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=False)
