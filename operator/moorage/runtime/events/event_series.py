"""Combines repeated events into a series, as the Kubernetes API conventions require (client-go `tools/events`).

first event          -> create the Event object
again within 6 min   -> a series: patch its count, the second time at once, then at most every REFRESH_SECONDS
6 min without events -> write the last count and forget the series; the next event is a new one
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

REFRESH_SECONDS = 60.0
"""Interval between writes of a running series' count; client-go's interval is 30 minutes."""
FINISH_SECONDS = 360.0
"""A series ends after this time without an event; client-go's finishTime."""
MAX_SERIES = 4096
"""Largest number of series in the cache. The series with the oldest last event is dropped first."""


@dataclass(slots=True)
class EventSeries:
    """An event that may repeat. Times are in seconds since the epoch."""

    path: str
    """The path of the Event object."""
    last_observed: float
    written_at: float
    count: int = 1
    written_count: int = 1
    created: bool = False
    """Whether the API server has the Event object."""


class SeriesCache:
    """The series of recent events. Callers pass the current time `now`, in seconds since the epoch."""

    def __init__(self) -> None:
        """Start empty."""
        self._by_key: OrderedDict[Hashable, EventSeries] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of series."""
        return len(self._by_key)

    def count(self, key: Hashable, now: float) -> EventSeries | None:
        """Count one more event of a series and return the series; return None if there is no series for the key."""
        series = self._by_key.get(key)
        if series is None or now - series.last_observed > FINISH_SECONDS:
            return None
        series.count += 1
        series.last_observed = now
        self._by_key.move_to_end(key)
        return series

    def add(self, key: Hashable, path: str, now: float) -> EventSeries:
        """Start a series with a new event."""
        series = self._by_key[key] = EventSeries(path, now, now)
        self._by_key.move_to_end(key)
        if len(self._by_key) > MAX_SERIES:
            self._by_key.popitem(last=False)
        return series

    def forget(self, key: Hashable) -> None:
        """Remove a series whose Event object does not exist any more."""
        self._by_key.pop(key, None)

    def is_due(self, series: EventSeries, now: float) -> bool:
        """Return whether the count of a series must be written now."""
        if not series.created or series.count == series.written_count:
            return False
        return series.written_count == 1 or now - series.written_at >= REFRESH_SECONDS

    def due(self, now: float) -> list[tuple[Hashable, EventSeries]]:
        """Remove the series that have ended; return all series whose count must be written."""
        ended = [item for item in self._by_key.items() if now - item[1].last_observed > FINISH_SECONDS]
        for key, _ in ended:
            del self._by_key[key]
        unwritten = [item for item in ended if item[1].created and item[1].count != item[1].written_count]
        return unwritten + [item for item in self._by_key.items() if self.is_due(item[1], now)]

    def mark_written(self, series: EventSeries, now: float) -> None:
        """Mark the current count as written at `now`."""
        series.written_count = series.count
        series.written_at = now
