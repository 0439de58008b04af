"""Keeps PySpark from what takes time and is not needed: pandas (0.8 s), and Python workers for a few rows (0.8 s)."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

PANDAS = "pandas"


@contextmanager
def without_pandas() -> Iterator[None]:
    """Let pandas be missing meanwhile: PySpark tries to import it where it would take a frame of it as well."""
    if PANDAS in sys.modules:
        yield
        return
    sys.modules[PANDAS] = None  # type: ignore[assignment]  # what tells `import` that there is none
    try:
        yield
    finally:
        sys.modules.pop(PANDAS, None)


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Return a table of this process as a frame. Plain rows would take Python workers, and theirs a second to start."""
    if not table.num_rows:  # Spark Connect takes no empty table without one
        from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415

        return spark.createDataFrame(table, schema=from_arrow_schema(table.schema))
    with without_pandas():
        return spark.createDataFrame(table)
