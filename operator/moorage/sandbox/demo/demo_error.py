"""The error that ends the demo."""

from moorage.errors import MoorageError


class DemoError(MoorageError):
    """A failure of the demo. The message gives the cause."""
