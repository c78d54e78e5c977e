"""Preemption: the search for victims on a node."""
