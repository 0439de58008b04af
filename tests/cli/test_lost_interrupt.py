"""A Ctrl-C that arrives within a callback of Python itself ends a command as any other does."""

from __future__ import annotations

import signal
import subprocess
import sys

PROGRAM = """
import signal, time
from leadsman.cli import group

class Callback:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)  # its KeyboardInterrupt is ignored, and only reported

def run(arguments):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    Callback()
    time.sleep(60)

group.run = run
group.main(["config"])
"""


def test_a_lost_ctrl_c_comes_again() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=50, check=False)

    assert ended.returncode == -signal.SIGINT
    assert "Exception ignored" not in ended.stderr
