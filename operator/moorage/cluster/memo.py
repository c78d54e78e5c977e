"""A cache of values that are computed for pod shapes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from moorage.model.pods.pod import PodShape

T = TypeVar("T")

_MAX_ENTRIES = 2048  # enough for about 200 pod templates; most entries are an array over all nodes


class Memo:
    """One value for each subject and shape, valid for one generation; drops the least recently used values."""

    def __init__(self, max_entries: int = _MAX_ENTRIES) -> None:
        self._max_entries = max_entries
        self._entries: OrderedDict[tuple[Hashable, PodShape | None], tuple[Hashable, Any]] = OrderedDict()

    def get(self, subject: Hashable, shape: PodShape | None, generation: Hashable, compute: Callable[[], T]) -> T:
        """Return the cached value if it is of this generation; otherwise compute and cache the value."""
        key = (subject, shape)
        entry = self._entries.get(key)
        if entry is not None and entry[0] == generation:
            self._entries.move_to_end(key)
            value: T = entry[1]
            return value
        value = compute()
        self._entries[key] = (generation, value)
        self._entries.move_to_end(key)
        if len(self._entries) > self._max_entries:
            self._entries.popitem(last=False)
        return value
