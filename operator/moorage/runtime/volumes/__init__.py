"""Volumes that are bound with their pods, before the binding."""
