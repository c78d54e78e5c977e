"""Ctrl-C during a search: the first is remembered, the second interrupts."""

from __future__ import annotations

import signal

import pytest

from moorage.tuning.ctrl_c import CtrlC


def test_the_first_ctrl_c_is_remembered_and_the_second_interrupts() -> None:
    before = signal.getsignal(signal.SIGINT)
    with CtrlC() as ctrl_c:
        assert not ctrl_c.is_pressed
        signal.raise_signal(signal.SIGINT)
        assert ctrl_c.is_pressed
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_after_the_block_interrupts() -> None:
    with CtrlC() as ctrl_c:
        pass
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert not ctrl_c.is_pressed
