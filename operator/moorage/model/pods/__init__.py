"""Pods as the scheduler reads them, and how they are decoded from API objects."""
