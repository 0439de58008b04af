"""Summarizes the error that ended a demo in a few lines. Spark's own message fills pages."""

from __future__ import annotations

import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from account_linking.demo.deployment import ComponentStopped
from leadsman.errors import LeadsmanError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_CHARACTERS = 600
TRACEBACK_FILE = "error.txt"


class DemoFailed(Exception):
    """The summary of the error that ended the demo."""


EXPECTED_ERRORS = (DemoFailed, LeadsmanError, ComponentStopped, PySparkException, Py4JError, httpx.HTTPError, OSError)
"""Errors with causes outside the code: no Java, a full disk, a killed broker. Any other error is a bug."""


@contextmanager
def summarized_errors(folder: Path) -> Iterator[None]:
    """Summarize expected errors inside the block, while Spark still runs: the message is read from the JVM."""
    try:
        yield
    except EXPECTED_ERRORS as error:
        raise DemoFailed(summarize(error, folder)) from None


def summarize(error: Exception, folder: Path) -> str:
    """Return an error's root cause; write the whole traceback into the folder, if that is possible."""
    message = str(error)
    causes = [line for line in message.splitlines() if line.startswith("Caused by: ")]
    if not causes:
        return message[:MAX_CHARACTERS] or repr(error)
    root_cause = causes[-1].removeprefix("Caused by: ")[:MAX_CHARACTERS]
    try:
        (folder / TRACEBACK_FILE).write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    except OSError as write_error:
        return f"{root_cause} (the traceback could not be written: {write_error})"
    return f"{root_cause}\nTraceback: {folder / TRACEBACK_FILE}"
