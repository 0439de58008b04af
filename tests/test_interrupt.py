"""A Ctrl-C that comes amid something else is held back, recognised, or repeated: it is never lost."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from leadsman.interrupt import defer_interrupts, raise_if_interrupted

CALLBACK = """
import signal, time
from leadsman.interrupt import repeat_lost_interrupts

class Callback:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)  # its KeyboardInterrupt is ignored, and only reported

signal.signal(signal.SIGINT, signal.default_int_handler)
repeat_lost_interrupts()
Callback()
time.sleep(60)
"""


def test_a_deferred_interrupt_reaches_the_block_around_it_at_its_end() -> None:
    ends: list[str] = []

    def interrupted() -> None:
        with defer_interrupts():
            with defer_interrupts():
                signal.raise_signal(signal.SIGINT)
                ends.append("inner")
            ends.append("outer")

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    assert ends == ["inner", "outer"]


def test_an_error_that_comes_of_an_interrupt_is_one() -> None:
    failed = ValueError("the connection is closed")
    failed.__context__ = KeyboardInterrupt()  # as py4j's error has that closes a connection after one

    with pytest.raises(KeyboardInterrupt):
        raise_if_interrupted(failed)
    raise_if_interrupted(ValueError("of its own"))


def test_a_ctrl_c_that_was_lost_in_a_callback_comes_again() -> None:
    ended = subprocess.run([sys.executable, "-c", CALLBACK], capture_output=True, text=True, timeout=50, check=False)

    assert ended.returncode == -signal.SIGINT
    assert "Exception ignored" not in ended.stderr
