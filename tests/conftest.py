"""Plugins of the whole suite, and how hypothesis runs in it."""

from hypothesis import HealthCheck, settings

pytest_plugins = ["controlplane.fixtures"]

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("moorage", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("moorage")
