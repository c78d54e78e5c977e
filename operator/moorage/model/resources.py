"""Amounts of resources in the units the scheduler counts in: cpu in thousandths, everything else whole.

A `Resources` holds only resources that are stated; an absent one differs from a zero in the non-zero defaults.
"""

from __future__ import annotations

from dataclasses import dataclass

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"


@dataclass(frozen=True, slots=True)
class Resources:
    """Amounts by resource name, sorted by name: cpu in milli, memory and storage in bytes, others in units."""

    amounts: tuple[tuple[str, int], ...] = ()

    def get(self, name: str) -> int:
        """Return the amount of a resource, 0 where it is not stated."""
        return next((amount for key, amount in self.amounts if key == name), 0)


NO_RESOURCES = Resources()
