"""A real browser for the tests of pages: an installed Chromium, driven by playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def browser() -> Iterator[Any]:
    """Start Chromium without a window. Skip the test if it is not installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (make install)")
    program = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("there is no Chromium; install Debian's package chromium")
    with playwright.sync_playwright() as driver:
        # Chromium's sandbox does not work for root, and is not needed, because the tests open only their own pages.
        started = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield started
        finally:
            started.close()
