"""Cuts a watch's stream into lines, whatever their length and wherever the reads fall."""


class LineSplitter:
    """Holds the part of a line that has not ended yet."""

    def __init__(self) -> None:
        """Start at the beginning of a line."""
        self._parts: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take what was read and return the lines that are whole now, without empty ones."""
        head, newline, rest = chunk.partition(b"\n")
        if not newline:
            self._parts.append(chunk)
            return []
        first = b"".join([*self._parts, head])
        *lines, tail = rest.split(b"\n")
        self._parts = [tail] if tail else []
        return [line for line in (first, *lines) if line]
