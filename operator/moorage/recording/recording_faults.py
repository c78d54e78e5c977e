"""The error about a recording that cannot be read."""

from moorage.errors import MoorageError


class UnusableRecording(MoorageError):  # noqa: N818 - like UnusableDump
    """A recording that cannot be replayed. The message names the file, the fault and the next step."""
