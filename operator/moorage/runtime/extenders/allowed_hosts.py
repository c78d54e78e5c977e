"""The hosts that extenders of policies may use. The flag `--policy-extenders` lists them.

An entry is `host`, `host:port`, `*.suffix` or `*.suffix:port`. Without a port, every port of the host is allowed. Names
are compared as text. An entry for a name does not allow a URL with the IP address of the same host.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from yarl import URL

_NAME = r"[a-z0-9]([-a-z0-9_]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9_]*[a-z0-9])?)*"
_ENTRY = re.compile(rf"(?P<host>(\*\.)?{_NAME}|\[[0-9a-f:.]+\])(:(?P<port>[0-9]{{1,5}}))?")
MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """A list of hosts, each with a port or None."""

    entries: tuple[tuple[str, int | None], ...] = ()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> AllowedHosts:
        """Parse entries; raise ValueError if an entry is invalid."""
        return cls(tuple(map(_parse, texts)))

    def allow(self, url: str) -> bool:
        """Return whether the list has the host and port of a URL. An invalid URL is never allowed."""
        try:
            parsed = URL(url)
        except ValueError:
            return False
        host = (parsed.host or "").lower().removesuffix(".")
        return any(_matches(host, entry) and port in {None, parsed.port} for entry, port in self.entries)


def _parse(text: str) -> tuple[str, int | None]:
    found = _ENTRY.fullmatch(text.lower())
    port = int(found["port"]) if found and found["port"] else None
    if found is None or (port is not None and not 0 < port <= MAX_PORT):
        raise ValueError(f"{text!r} is not a host: write host, host:port, or *.suffix, without scheme and path")
    return found["host"].strip("[]"), port


def _matches(host: str, entry: str) -> bool:
    if entry.startswith("*."):
        return host.endswith(entry[1:]) and host != entry[1:]
    return host == entry
