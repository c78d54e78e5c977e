"""The decisions about the pods that were tried last. The log has limits for pods, attempts and bytes.

The scheduling loop only appends new decisions to a list. The decisions are summarized when the loop is idle, when a
caller reads the log, or when the list is long. All callers run in the thread of the loop.
"""

from collections import OrderedDict
from collections.abc import Sequence

from msgspec import Struct

from moorage.engine.records.captured_binding import CapturedBinding
from moorage.engine.records.captured_rejection import CapturedRejection
from moorage.engine.records.decision_record import DecisionRecord
from moorage.engine.records.stored_record import StoredRecord

MAX_PODS = 10_000
MAX_ATTEMPTS = 3
"""The number of attempts that are kept for one pod."""
MAX_BYTES = 48 << 20
MAX_NEW = 1000
MAX_NEW_NODES = 500_000
"""The limits for new decisions: their number, and the sum of the nodes that they compared. New decisions hold at most
about 16 MB of arrays."""


class LogLimits(Struct, frozen=True, kw_only=True):
    """The bounds of a log."""

    pods: int = MAX_PODS
    attempts: int = MAX_ATTEMPTS
    size_bytes: int = MAX_BYTES


DEFAULT_LOG_LIMITS = LogLimits()
LogEntry = CapturedBinding | CapturedRejection | StoredRecord


class DecisionLog:
    """The last attempts of the pods that were tried last."""

    def __init__(self, limits: LogLimits = DEFAULT_LOG_LIMITS) -> None:
        """Start empty."""
        self._limits = limits
        self._new: list[LogEntry] = []
        self._new_nodes = 0
        self._attempts: OrderedDict[str, tuple[StoredRecord, ...]] = OrderedDict()
        """The attempts of each pod, the oldest first, by uid. The pods are in the order of their last attempts."""
        self._uids: dict[str, str] = {}
        """The uid of the pod that was tried last under each `namespace/name`."""
        self._size_bytes = 0

    def __len__(self) -> int:
        """Return the number of pods with records."""
        self.summarize()
        return len(self._attempts)

    @property
    def size_bytes(self) -> int:
        """The approximate size in memory."""
        self.summarize()
        return self._size_bytes

    @property
    def has_new(self) -> bool:
        """Whether decisions wait to be summarized."""
        return bool(self._new)

    def add(self, entry: LogEntry, compared_nodes: int = 0) -> None:
        """Add an attempt, which compared `compared_nodes` nodes."""
        self._new.append(entry)
        self._new_nodes += compared_nodes
        if len(self._new) >= MAX_NEW or self._new_nodes > MAX_NEW_NODES:
            self.summarize()

    def summarize(self, limit: int = MAX_NEW) -> None:
        """Summarize at most `limit` new decisions, the oldest first."""
        some = self._new[:limit]
        del self._new[:limit]
        if not self._new:
            self._new_nodes = 0
        for entry in some:
            self._file(entry if isinstance(entry, StoredRecord) else entry.summarize())

    def find(self, key: str) -> Sequence[DecisionRecord]:
        """Return the records of the last pod with this `namespace/name`, the latest first.

        If a pod was deleted and created again, the records may be about the deleted pod. Callers must compare the uid.
        """
        self.summarize()
        attempts = self._attempts.get(self._uids.get(key, ""), ())
        return [stored.complete() for stored in reversed(attempts)]

    def _file(self, stored: StoredRecord) -> None:
        record = stored.record
        self._uids[record.key] = record.uid
        attempts = (*self._attempts.pop(record.uid, ()), stored)
        if len(attempts) > self._limits.attempts:
            self._size_bytes -= attempts[0].size_bytes
            attempts = attempts[1:]
        self._attempts[record.uid] = attempts
        self._size_bytes += stored.size_bytes
        while len(self._attempts) > self._limits.pods or self._size_bytes > self._limits.size_bytes:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        uid, attempts = self._attempts.popitem(last=False)
        self._size_bytes -= sum(stored.size_bytes for stored in attempts)
        key = attempts[-1].record.key
        if self._uids.get(key) == uid:
            del self._uids[key]
