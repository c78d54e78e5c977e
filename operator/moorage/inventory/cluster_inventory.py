"""Inventory: the objects of a cluster that the engine reads, by kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from moorage.errors import UnusableDump
from moorage.framework.cluster_events import ClusterEvent, added
from moorage.inventory.kinds import ENGINE_KINDS, KINDS, POLICY
from moorage.inventory.read_fields import Json, keep_read_fields
from moorage.model.decode import Decoder

DEFAULT_NAMESPACE = "default"


class NamedMetadata(msgspec.Struct):
    """The name of an object."""

    name: str = ""
    namespace: str = ""


class NamedObject(msgspec.Struct):
    """An object. Only its name is decoded."""

    metadata: NamedMetadata = msgspec.field(default_factory=NamedMetadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """The objects of a cluster, and how they were read."""

    objects: Mapping[str, Sequence[bytes]]
    """The JSON of the objects of each kind."""
    unlisted: Mapping[str, str] = field(default_factory=dict)
    """The kinds that could not be listed, each with the reason."""
    taken: str = ""
    """When the objects were read, as a timestamp of RFC 3339."""
    api_server: str = ""
    """The version of the API server."""
    moorage: str = ""
    """The version of moorage that wrote the dump."""
    anonymized: bool = False
    lines: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """The line numbers of the objects of each kind in the dump file; empty if the inventory is not from a file."""

    @classmethod
    def of(cls, bodies: Iterable[Mapping[str, Any]]) -> Inventory:
        """Return the inventory of parsed objects.

        Each object has the field `kind`. Objects of unknown kinds are left out.
        """
        objects: dict[str, list[bytes]] = {}
        for body in bodies:
            kind = str(body.get("kind"))
            if kind in KINDS:
                kept = keep_read_fields(kind, _with_namespace(kind, body))
                objects.setdefault(kind, []).append(msgspec.json.encode(kept))
        return cls(objects=objects)

    @property
    def counts(self) -> dict[str, int]:
        """The number of objects by kind. Kinds without objects are left out."""
        return {kind: len(self.objects[kind]) for kind in KINDS if self.objects.get(kind)}

    @property
    def policies(self) -> list[Json]:
        """The SchedulingPolicy objects."""
        return list(self.bodies(POLICY))

    def bodies(self, kind: str) -> Iterator[Json]:
        """Yield the objects of a kind as parsed JSON."""
        for raw in self.objects.get(kind, ()):
            yield msgspec.json.decode(raw)

    def describe(self, kind: str, index: int) -> str:
        """Return a text that names an object: its line in the file (if there is a file), its kind and its name."""
        line = f"line {self.lines[kind][index]}: " if kind in self.lines else ""
        return f"{line}{kind} {name_of(self.objects[kind][index])}"


def cluster_events(
    inventory: Inventory, decoder: Decoder, skip: Callable[[str], None] | None = None
) -> Iterator[ClusterEvent]:
    """Yield the events that informers would post for the objects. Nodes are sorted by name.

    If an object cannot be decoded, leave it out and call `skip` with the message. Without `skip`, raise UnusableDump.
    """
    for kind in ENGINE_KINDS:
        raws = inventory.objects.get(kind, ())
        order = list(range(len(raws)))
        if kind == "Node":
            names = [name_of(raw) for raw in raws]
            order.sort(key=names.__getitem__)
        for index in order:
            try:
                decoded = decoder.decode(kind, raws[index])
            except (ValueError, msgspec.MsgspecError) as error:
                message = f"{inventory.describe(kind, index)} cannot be read: {error}"
                if skip is None:
                    raise UnusableDump(message) from error
                skip(message)
                continue
            yield added(kind, decoded)


def check_objects(inventory: Inventory) -> None:
    """Raise UnusableDump if the engine cannot read an object. The message has the object's line."""
    for _ in cluster_events(inventory, Decoder()):
        pass
    for index, policy in enumerate(inventory.policies):
        if not isinstance(policy.get("spec", {}), dict):
            raise UnusableDump(f"{inventory.describe(POLICY, index)} cannot be read: spec must be an object")


def name_of(raw: bytes) -> str:
    """Return `namespace/name` or the name of an object; a question mark if the object has none."""
    try:
        metadata = msgspec.json.decode(raw, type=NamedObject).metadata
    except msgspec.MsgspecError:
        return "?"
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name or "?"


def _with_namespace(kind: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = body.get("metadata") or {}
    if not KINDS[kind].namespaced or metadata.get("namespace"):
        return body
    return {**body, "metadata": {**metadata, "namespace": DEFAULT_NAMESPACE}}
