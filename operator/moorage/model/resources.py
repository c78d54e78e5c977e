"""Amounts of resources in the scheduler's units: cpu in thousandths, all others in whole units."""

from __future__ import annotations

from dataclasses import dataclass

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"


@dataclass(frozen=True, slots=True)
class Resources:
    """Amounts by resource name, sorted by name: cpu in thousandths, memory and storage in bytes, others in units.

    A resource that the object does not state is absent; defaults apply to absent resources but not to zero.
    """

    amounts: tuple[tuple[str, int], ...] = ()

    def get(self, name: str) -> int:
        """Return the amount of a resource, 0 if it is absent."""
        return next((amount for key, amount in self.amounts if key == name), 0)


NO_RESOURCES = Resources()
