"""Environment variables for the time of a block: PySpark and its JVM take some settings from nowhere else."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CONNECT_MODE = "SPARK_CONNECT_MODE_ENABLED"
"""While it is set, `pyspark.sql.functions` are those of Spark Connect, and a new session asks for its server."""

TABLE_FOLDER = "LEADSMAN_TABLE_FOLDER"
"""Where workers put tables that several queries read. It is the driver's, which outlives them: Ctrl-C kills workers."""

NO_CONNECT: Mapping[str, str | None] = dict.fromkeys(
    (CONNECT_MODE, "SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_API_MODE")
)
"""Without what a notebook on Spark Connect hands down to the programs that it starts."""


@contextmanager
def environment(values: Mapping[str, str | None]) -> Iterator[None]:
    """Set variables, or remove those whose value is None; restore all of them at the end of the block."""
    before = {key: os.environ.get(key) for key in values}
    _set(values)
    try:
        yield
    finally:
        _set(before)


def _set(values: Mapping[str, str | None]) -> None:
    for key, value in values.items():
        if value is None:
            os.environ.pop(key, None)
        else:
            os.environ[key] = value
