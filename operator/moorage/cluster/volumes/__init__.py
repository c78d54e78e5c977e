"""Volumes that placed and assumed pods use."""
