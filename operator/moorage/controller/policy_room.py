"""The limits on the number and the size of the policies that the operator accepts.

The limits are needed because a compiled policy takes up to fifty times the memory of its spec.
"""

from __future__ import annotations

from dataclasses import dataclass, field

MAX_POLICIES = 2000
"""1,000 policies take 2 to 3 s of CPU at startup, and 20 MB of memory."""
MAX_TOTAL_BYTES = 8 << 20
"""Enough for 2,000 policies of 4 kB each. In the worst case, the compiled policies take about 500 MB."""
_LATER = "and this one is accepted within a minute"


@dataclass(slots=True)
class PolicyRoom:
    """The limits, and the sizes of the specs of the accepted policies."""

    policies: int = MAX_POLICIES
    total_bytes: int = MAX_TOTAL_BYTES
    _sizes: dict[str, int] = field(default_factory=dict)
    _taken_bytes: int = 0

    def take(self, name: str, size: int) -> str:
        """Reserve `size` bytes for the spec of a policy.

        Return an empty text. If a limit would be exceeded, reserve nothing and return the reason.
        """
        held = self._sizes.get(name)
        if held is None and len(self._sizes) >= self.policies:
            return f"the operator accepts {self.policies} policies at most; delete others, {_LATER}"
        if self._taken_bytes - (held or 0) + size > self.total_bytes:
            return (
                f"the spec has {size} bytes, and the specs of all policies together may have {self.total_bytes}; "
                f"delete or shorten others, {_LATER}"
            )
        self._taken_bytes += size - (held or 0)
        self._sizes[name] = size
        return ""

    def free(self, name: str) -> None:
        """Free the bytes that are reserved for a policy."""
        self._taken_bytes -= self._sizes.pop(name, 0)
