"""A pytest plugin with the session's control plane.

If the binaries are not built, the plugin leaves out tests marked `controlplane`, and prints their number at the end.
CI sets MOORAGE_REQUIRE_CONTROLPLANE=1. Then missing binaries are an error, so that CI cannot pass with fewer tests.
"""

import os
from collections.abc import AsyncIterator, Iterator

import pytest

from controlplane.build import Binaries
from controlplane.launcher import ControlPlane
from controlplane.objects import delete_nodes_and_pods

REQUIRE_VARIABLE = "MOORAGE_REQUIRE_CONTROLPLANE"
REASON = "the control plane's binaries are not built"
LEFT_OUT = "left out"
"""A separate category for these tests, because pytest's summary lists skipped tests file by file."""


def pytest_configure() -> None:
    if os.environ.get(REQUIRE_VARIABLE) != "1":
        return
    missing = Binaries().missing()
    if missing:
        raise pytest.UsageError(
            f"{REQUIRE_VARIABLE}=1, but these are not built: {', '.join(missing)}; build them with `make controlplane`"
        )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not Binaries().missing():
        return
    for item in items:
        if item.get_closest_marker("controlplane"):
            item.add_marker(pytest.mark.skip(reason=REASON))


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    if report.skipped and isinstance(report.longrepr, tuple) and REASON in report.longrepr[2]:
        return LEFT_OUT, "s", "LEFT OUT"
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    count = len(terminalreporter.stats.get(LEFT_OUT, []))
    if count:
        tests = "test" if count == 1 else "tests"
        terminalreporter.line(
            f"{count} control-plane {tests} left out: build the binaries with `make controlplane`", yellow=True
        )


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """The session's etcd and API server. Tests share them, so a test needs unique names or `empty_control_plane`."""
    with ControlPlane() as control_plane:
        yield control_plane


@pytest.fixture
async def empty_control_plane(control_plane: ControlPlane) -> AsyncIterator[ControlPlane]:
    """The session's control plane. It has no nodes and pods before and after the test."""
    await delete_nodes_and_pods(control_plane)
    yield control_plane
    await delete_nodes_and_pods(control_plane)
