"""The exception of a scheduling cycle."""


class CycleError(Exception):
    """The cycle ends because a plugin or an extender has failed. Never leaves the engine."""
