"""Ends the processes of a simulation with the process that started them."""

from __future__ import annotations

import os
from multiprocessing import parent_process
from threading import Thread


def end_with_parent() -> None:
    """End this process as soon as its parent has ended, even if the parent was killed.

    Without this, the processes of a killed command would stay forever.
    """
    Thread(target=_wait_for_parent, name="end-with-parent", daemon=True).start()


def _wait_for_parent() -> None:
    parent = parent_process()
    assert parent is not None, "only a process that multiprocessing has started calls this"
    parent.join()
    os._exit(1)
