"""Says in a few lines why a demo ended early. Spark's own words fill pages."""

from __future__ import annotations

import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from account_linking.demo.stage import StageBroken
from leadsman.errors import LeadsmanError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONGEST = 600
FULL_STORY = "error.txt"


class DemoFailed(Exception):
    """Why the demo could not go on, in short."""


EXPECTED = (DemoFailed, LeadsmanError, StageBroken, PySparkException, Py4JError, httpx.HTTPError, OSError)
"""What the machine can do to a demo: no Java, a full disk, a killed broker. Anything else is a fault of ours."""


@contextmanager
def telling_why(folder: Path) -> Iterator[None]:
    """Put errors into words while Spark still runs: it is asked for them."""
    try:
        yield
    except EXPECTED as error:
        raise DemoFailed(in_short(error, folder)) from None


def in_short(error: Exception, folder: Path) -> str:
    """Return what is at the bottom of an error; the whole of it is written into the folder, where that is possible."""
    told = str(error)
    causes = [line for line in told.splitlines() if line.startswith("Caused by: ")]
    if not causes:
        return told[:LONGEST] or repr(error)
    bottom = causes[-1].removeprefix("Caused by: ")[:LONGEST]
    try:
        (folder / FULL_STORY).write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    except OSError as unwritten:
        return f"{bottom} (and the whole story could not be written: {unwritten})"
    return f"{bottom}\nThe whole story: {folder / FULL_STORY}"
