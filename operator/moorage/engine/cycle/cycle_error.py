"""The exception of a scheduling cycle."""


class CycleError(Exception):
    """The failure of a plugin or an extender, which ends the cycle. Never leaves the engine."""
