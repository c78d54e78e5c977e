"""Volumes and claims of placed and assumed pods."""
