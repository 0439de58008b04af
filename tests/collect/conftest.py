"""Probes that are ordinary commands of any Unix host."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from leadsman.collect.capture_folder import CaptureFolder

if TYPE_CHECKING:
    from pathlib import Path

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> CaptureFolder:
    """An open capture of a host that is called broker-1, whose clock stands at noon."""
    opened = CaptureFolder(path=tmp_path / "capture", subject="broker-1", ran="leadsman collect test", now=lambda: NOON)
    opened.open()
    return opened
