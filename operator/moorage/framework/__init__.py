"""The scheduling framework: extension points, statuses, profiles and the plugin registry.

Plugins and the engine depend on this package, and never on each other. The package does no I/O and uses no clock and
no randomness.
"""
