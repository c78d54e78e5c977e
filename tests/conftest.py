"""Plugins of the whole suite."""

pytest_plugins = ["controlplane.fixtures"]
