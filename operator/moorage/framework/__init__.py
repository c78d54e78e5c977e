"""The scheduling framework: extension points, statuses, the snapshot that plugins read, profiles and their registry.

Plugins and the engine meet here; neither knows the other. No I/O, no clock, no randomness.
"""
