"""Columns of the container images on nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moorage.cluster.arrays import BoolArray
    from moorage.cluster.generations import Generations

Images = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class ImageColumn:
    """The nodes that have an image. An image with several names has a column for each name."""

    present: BoolArray
    """Nodes of the view that have the image."""
    size_bytes: int
    """The size that the first node with the image reported; as in kube-scheduler, it counts for all nodes."""
    node_count: int
    """Number of nodes in the cluster that have the image."""


class _Image:
    """An image: its size, the nodes that have it, and, after the first read, one flag for each node."""

    __slots__ = ("generation", "nodes", "present", "size_bytes")

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.nodes: set[str] = set()
        self.present: BoolArray | None = None
        self.generation = (-1, -1)


class ImageColumns:
    """All image names on all nodes. The flags of an image are built at its first read; most images are never read."""

    def __init__(self, slot_of: Mapping[str, int], generations: Generations) -> None:
        self._slot_of = slot_of
        self._generations = generations
        self._images: dict[str, _Image] = {}

    def replace(self, node_name: str, old: Images, new: Images) -> None:
        """Replace the old images of a node by the new ones."""
        if old == new:
            return
        for name, _ in old:
            image = self._images.get(name)
            if image is not None:
                image.nodes.discard(node_name)
                if not image.nodes:
                    del self._images[name]
        for name, size_bytes in new:
            image = self._images.setdefault(name, _Image(size_bytes))
            image.nodes.add(node_name)
        self._generations.images += 1

    def column(self, name: str) -> ImageColumn | None:
        """Return the column of an image, None if no node has it."""
        image = self._images.get(name)
        if image is None:
            return None
        generation = (self._generations.nodes, self._generations.images)
        if image.present is None or image.generation != generation:
            image.present, image.generation = self._flags(image), generation
        return ImageColumn(image.present, image.size_bytes, len(image.nodes))

    def _flags(self, image: _Image) -> BoolArray:
        flags = np.zeros(len(self._slot_of), dtype=np.bool_)
        flags[[self._slot_of[node_name] for node_name in image.nodes]] = True
        flags.flags.writeable = False
        return flags
