"""The exception of a scheduling cycle."""


class CycleError(Exception):
    """The failure of a plugin or an extender, which ends the cycle. The exception never leaves the engine."""
