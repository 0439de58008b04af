"""Debian's Prometheus programs: `make setup` puts them beside Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def program() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run promtool or amtool and return what it printed."""

    def run(name: str, *words: object) -> subprocess.CompletedProcess[str]:
        beside = str(Path(sys.executable).parent)
        path = shutil.which(name, path=beside) or shutil.which(name)
        assert path is not None, f"{name} is not installed. Install it: make setup"
        return subprocess.run([path, *map(str, words)], capture_output=True, text=True, check=False)

    return run
