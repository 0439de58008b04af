"""Keeps PySpark from importing pandas (0.8 s), and from starting Python workers for a few rows (0.8 s)."""

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
    """Hide pandas from imports in the block: PySpark imports it wherever it also accepts pandas frames."""
    if PANDAS in sys.modules:
        yield
        return
    sys.modules[PANDAS] = None  # type: ignore[assignment]  # makes `import pandas` fail
    try:
        yield
    finally:
        sys.modules.pop(PANDAS, None)


def create_frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Return an Arrow table of the driver as a frame. Plain rows would need Python workers, which start in a second."""
    if not table.num_rows:  # Spark Connect needs a schema for an empty table
        from pyspark.sql.pandas.types import from_arrow_schema

        return spark.createDataFrame(table, schema=from_arrow_schema(table.schema))
    with without_pandas():
        return spark.createDataFrame(table)
