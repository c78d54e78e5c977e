"""Plugins of all tests, and the settings of hypothesis."""

from hypothesis import HealthCheck, settings

pytest_plugins = ["controlplane.fixtures", "leaks"]

# No deadline, because the duration of an example depends on the load of the machine.
settings.register_profile("moorage", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("moorage")
