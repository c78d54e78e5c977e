"""Folds events that repeat into a series, as the API conventions ask (client-go `tools/events`).

first sighting       -> create the event
again within 6 min   -> a series: patch its count, the second time at once, then at most every REFRESH_SECONDS
6 min of silence     -> the last count is written and the series forgotten; the next sighting is a new event
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

REFRESH_SECONDS = 60.0
"""How often the count of a series that goes on is written; client-go leaves people 30 minutes in the dark."""
FINISH_SECONDS = 360.0
"""After so long without another sighting a series is over; client-go's finishTime."""
MOST_SERIES = 4096
"""How many events are remembered; the longest unseen are forgotten first."""


@dataclass(slots=True)
class Series:
    """One event that may be seen again."""

    path: str
    """Of the Event object."""
    last_observed: float
    written_at: float
    count: int = 1
    written_count: int = 1
    created: bool = False
    """Whether the API server has it."""


class SeriesCache:
    """What was reported lately. Times are arguments, in seconds since the epoch."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._by_key: OrderedDict[Hashable, Series] = OrderedDict()

    def __len__(self) -> int:
        """How many events are remembered."""
        return len(self._by_key)

    def see(self, key: Hashable, now: float) -> Series | None:
        """Count another sighting of an event; None if it is a new one, to be remembered and created."""
        series = self._by_key.get(key)
        if series is None or now - series.last_observed > FINISH_SECONDS:
            return None
        series.count += 1
        series.last_observed = now
        self._by_key.move_to_end(key)
        return series

    def remember(self, key: Hashable, path: str, now: float) -> Series:
        """Keep an event that is about to be created."""
        series = self._by_key[key] = Series(path, now, now)
        self._by_key.move_to_end(key)
        if len(self._by_key) > MOST_SERIES:
            self._by_key.popitem(last=False)
        return series

    def forget(self, key: Hashable) -> None:
        """Drop an event: the API server does not have it any more."""
        self._by_key.pop(key, None)

    def is_due(self, series: Series, now: float) -> bool:
        """Whether the count of a series should be written now."""
        if not series.created or series.count == series.written_count:
            return False
        return series.written_count == 1 or now - series.written_at >= REFRESH_SECONDS

    def due(self, now: float) -> list[tuple[Hashable, Series]]:
        """Return the series whose count should be written, and forget those that are over."""
        ended = [item for item in self._by_key.items() if now - item[1].last_observed > FINISH_SECONDS]
        for key, _ in ended:
            del self._by_key[key]
        last_words = [item for item in ended if item[1].created and item[1].count != item[1].written_count]
        return last_words + [item for item in self._by_key.items() if self.is_due(item[1], now)]

    def written(self, series: Series, now: float) -> None:
        """Note that the present count is being written."""
        series.written_count = series.count
        series.written_at = now
