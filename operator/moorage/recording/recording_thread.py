"""The thread that writes a recording, so that scheduling does not wait for the disk."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

from moorage.engine.engine_state import EngineState
from moorage.recording.calls import Call
from moorage.recording.recording_writer import RecordingWriter

STOP_SECONDS = 5.0
"""The longest time that a stop waits for the last calls to be written."""
MAX_WAITING_CALLS = 300_000
"""The number of calls that may wait to be written; about 300 MB. Further calls are lost."""


class RecordingThread:
    """A receiver of calls that passes them to a writer in another thread."""

    def __init__(self, writer: RecordingWriter, max_waiting_calls: int = MAX_WAITING_CALLS) -> None:
        """Prepare the thread; `start` starts it."""
        self.needs_state = True
        self._has_asked = True
        """Whether the engine was asked for a state that has not arrived."""
        self._writer = writer
        self._max_waiting_calls = max_waiting_calls
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._received = 0
        self._handled = 0
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Write the received calls, end the segment and stop the thread. Wait at most STOP_SECONDS."""
        self._work.put(None)
        self._thread.join(STOP_SECONDS)

    def begin(self, state: EngineState, now: float) -> None:
        """Begin a segment with a state; called in the thread of the engine."""
        self.needs_state = False
        self._work.put(lambda: self._begin(state, now))

    def receive(self, calls: list[Call]) -> None:
        """Receive the next calls; called in the thread of the engine."""
        if self._received - self._handled > self._max_waiting_calls:
            count = len(calls)
            self._work.put(lambda: self._writer.skip(count))
            return
        self._received += len(calls)
        self._work.put(lambda: self._write(calls))

    def report(self, text: str) -> None:
        """Write a crash report with the last minutes."""
        self._work.put(lambda: self._writer.report(text))

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()
            if self._writer.wants_state and not self._has_asked:
                self._has_asked = self.needs_state = True
        self._writer.close()

    def _begin(self, state: EngineState, now: float) -> None:
        self._has_asked = False
        self._writer.begin(state, now)

    def _write(self, calls: list[Call]) -> None:
        self._handled += len(calls)
        self._writer.write(calls)
