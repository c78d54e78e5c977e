"""Carries preemption out: sets the victims' conditions, evicts them, and finds those that do not terminate."""
