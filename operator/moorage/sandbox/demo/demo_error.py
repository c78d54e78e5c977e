"""The error that ends the demo."""

from moorage.errors import MoorageError


class DemoError(MoorageError):
    """A step of the demo failed. The message says which, and why."""
