"""Plugins of all tests, the settings of hypothesis, and an orderly end on SIGTERM."""

import signal
from types import FrameType

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["controlplane.fixtures", "leaks"]

# No deadline, because the duration of an example depends on the load of the machine.
settings.register_profile("moorage", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("moorage")


def pytest_configure() -> None:
    """On SIGTERM, end the session as after Ctrl-C, so that fixtures stop the programs that they started."""
    signal.signal(signal.SIGTERM, _end_session)


def _end_session(_: int, __: FrameType | None) -> None:
    pytest.exit("terminated by SIGTERM", returncode=128 + signal.SIGTERM)
