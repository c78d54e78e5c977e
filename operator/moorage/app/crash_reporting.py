"""Adds errors that end the process to the recording."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from moorage.app.recordings import Recordings
from moorage.errors import MoorageError


@asynccontextmanager
async def reporting_crashes(recordings: Recordings) -> AsyncIterator[None]:
    """Report the errors that a block raises, except those that name a next step for users."""
    try:
        yield
    except* MoorageError:
        raise
    except* Exception as errors:
        recordings.report(errors)
        raise
