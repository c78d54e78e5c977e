"""Carries out preemption: sets the victims' conditions, evicts the victims, and finds victims that do not terminate."""
