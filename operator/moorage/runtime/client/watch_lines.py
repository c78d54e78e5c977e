"""Cuts a watch's stream into lines of any length, wherever the reads end."""


class LineSplitter:
    """Keeps the part of a line that has not ended yet."""

    def __init__(self) -> None:
        """Start at the beginning of a line."""
        self._parts: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Add a read and return the lines that it completes, without empty ones."""
        head, newline, rest = chunk.partition(b"\n")
        if not newline:
            self._parts.append(chunk)
            return []
        first = b"".join([*self._parts, head])
        *lines, tail = rest.split(b"\n")
        self._parts = [tail] if tail else []
        return [line for line in (first, *lines) if line]
