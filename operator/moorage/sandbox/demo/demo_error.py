"""The error that ends the demo."""

from moorage.sandbox.multiline_error import MultilineError


class DemoError(MultilineError):
    """A failure of the demo. The message gives the cause."""
