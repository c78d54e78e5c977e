"""Cuts a watch's stream into lines. A read may end inside a line."""

MAX_LINE_BYTES = 32 << 20
"""The longest line. etcd limits an object to 1.5 MB, in an encoding that is shorter than JSON."""


class LineSplitter:
    """A splitter of reads into lines. It keeps the beginning of a line until the end arrives."""

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        """Start at the beginning of a line."""
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._bytes = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Add the bytes of a read, and return the lines that are complete now. Leave out empty lines.

        Raise ValueError if a line is too long.
        """
        head, newline, rest = chunk.partition(b"\n")
        if not newline:
            self._parts.append(chunk)
            self._bytes += len(chunk)
            if self._bytes > self._max_bytes:
                raise ValueError(f"an event is longer than {self._max_bytes} bytes")
            return []
        first = b"".join([*self._parts, head])
        *lines, tail = rest.split(b"\n")
        self._parts = [tail] if tail else []
        self._bytes = len(tail)
        return [line for line in (first, *lines) if line]
