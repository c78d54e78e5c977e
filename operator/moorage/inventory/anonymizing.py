"""Anonymizes an inventory: replaces names in a way that does not change the scheduler's decisions.

Amounts, priorities, times, zones, instance types, and the keys and values of Kubernetes and vendors stay
(`known_names`). Uids, conditions' messages and images are replaced or left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import msgspec

from moorage.inventory.cluster_inventory import Inventory, check_objects
from moorage.inventory.kinds import ENGINE_KINDS, POLICY
from moorage.inventory.names import Names
from moorage.inventory.read_fields import Json
from moorage.inventory.rename_fields import rename_object
from moorage.inventory.rename_policy import rename_policy


@dataclass(frozen=True, slots=True)
class AnonymizedInventory:
    """An inventory without names, and notes for its owner."""

    inventory: Inventory
    notes: tuple[str, ...]
    """What was kept although it may contain names, such as arguments of plugins of other authors."""


def anonymize(inventory: Inventory) -> AnonymizedInventory:
    """Replace the names in an inventory. Raise UnusableDump for an object that cannot be decoded."""
    check_objects(inventory)
    names = Names()
    for _ in _renamed(inventory, names, _ignore):
        pass
    names.freeze()
    notes: list[str] = []
    objects: dict[str, list[bytes]] = {}
    for kind, body in _renamed(inventory, names, notes.append):
        objects.setdefault(kind, []).append(msgspec.json.encode(body))
    return AnonymizedInventory(replace(inventory, objects=objects, anonymized=True, lines={}), tuple(notes))


def _renamed(inventory: Inventory, names: Names, note: Callable[[str], None]) -> Iterator[tuple[str, Json]]:
    """Yield all objects with the names that `names` gives, each with its kind."""
    for policy in inventory.bodies(POLICY):
        yield POLICY, rename_policy(names, policy, note)
    for kind in ENGINE_KINDS:
        for body in inventory.bodies(kind):
            yield kind, rename_object(names, kind, body)


def _ignore(note: str) -> None:
    del note
