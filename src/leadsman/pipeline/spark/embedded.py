"""The embedded engine: Spark SQL inside one Python process, for captures that fit into its memory.

The engine is Sail, and is called as any Spark session is. A detector is some forty small queries. Catalyst analyses and
plans each of them, which takes seconds whatever their size; Sail takes milliseconds. It runs in the tasks of a Spark
job, with one session for each worker process, which lives as long as the process.

Sail differs from Spark, in the SQL of this project, as follows:
It lacks `* EXCEPT` and `GROUP BY ALL`; `t.*` after `JOIN ... USING` leaves out the join columns.
Rows of one array, and arrays that are concatenated, must agree in the nullability of fields (`detector_sql.nullable`).
`IF`, `CASE` and `UNION ALL` have the type of their first branch: an integer first, and fractions are an error.
`collect_list` over a window includes nulls, and is null where no row is. Such a list also grows with the square of the
number of errors, in either engine: no detector uses one.
Regular expressions are Rust's: no look-around. It lacks `FILTER` over a window, `zip_with`, and `list[i]` in a lambda.
`array_contains` of an array with nulls is false where Spark returns null. Large numbers as text have no exponent.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa

from leadsman.pipeline.spark.environment import CONNECT_MODE, TABLE_FOLDER, environment
from leadsman.pipeline.spark.pyspark_startup import create_frame, postponed_pandas
from leadsman.run_folder import memory_folder, run_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

INLINE_BYTES = 1 << 20
"""A table up to this size is sent with each query that reads it, which takes no longer than reading it from a file."""

MANY_BYTES = 16 << 20
"""From tables of so many bytes on, some 50,000 events, results are written by the engine itself. A row that comes as a
query's result costs 4 microseconds on its way through gRPC, 0.5 in a file; a file costs 20 milliseconds."""

TABLES_PER_EVENTS = 3
"""The tables of a session have at most so many times the size of its events. Measured: 1.1 to 1.6."""


@dataclass(slots=True)
class SharedTables:
    """The folder for tables that several queries read, and the size of the tables that Python wrote there."""

    folder: Path
    bytes: int = 0


TABLES: ContextVar[SharedTables] = ContextVar("TABLES")


@contextmanager
def embedded_session(event_bytes: int = 0) -> Iterator[SparkSession]:
    """Yield this process's session, with a folder in shared memory, or else on disk, for tables that queries share.

    The folder is on disk, too, where shared memory is too small for events of `event_bytes`: a container's has 64 MB
    by default. Raises OSError where the driver's folder is gone: the driver has ended, and nobody would remove another
    one.
    """
    driver_folder = os.environ.get(TABLE_FOLDER)
    parent = Path(driver_folder) if driver_folder else memory_folder()
    if shutil.disk_usage(parent).free < event_bytes * TABLES_PER_EVENTS:
        parent = Path(tempfile.gettempdir())
    with run_folder(parent) as folder:
        token = TABLES.set(SharedTables(folder))
        try:
            with environment({CONNECT_MODE: "1"}):
                yield _process_session()
        finally:
            TABLES.reset(token)


@cache
def _process_session() -> SparkSession:
    """Return this process's own session, which ends with the process."""
    os.environ.setdefault("RUST_LOG", "off")
    from pysail.spark import SparkConnectServer  # 60 MB that only a task needs
    from pyspark.sql import SparkSession

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    host, port = server.listening_address
    with postponed_pandas():
        spark: Any = SparkSession.builder.remote(f"sc://{host}:{port}").create()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.client.disable_reattachable_execute()  # more calls for each statement, for networks that lose connections
    spark.leadsman_server = server  # the server ends with the last reference to it
    typed: SparkSession = spark
    return typed


def is_embedded(spark: SparkSession) -> bool:
    """Whether a session is this process's embedded session."""
    return "pysail.spark" in sys.modules and spark is _process_session()


def has_many_rows(spark: SparkSession) -> bool:
    """Whether a session is the embedded one, with tables so large that each row's work takes longer than statements."""
    return is_embedded(spark) and TABLES.get().bytes >= MANY_BYTES


def frame_from_table(table: pa.Table) -> DataFrame:
    """Return a table as a frame. A large table is not sent again with each query, but read from a file."""
    if table.nbytes <= INLINE_BYTES:
        return create_frame(_process_session(), table)
    import pyarrow.parquet as pq

    tables = TABLES.get()
    tables.bytes += table.nbytes
    file = tables.folder / f"{uuid4()}.parquet"
    pq.write_table(table, file, compression="none")
    return _frame_from_files(file, table.schema, table.num_rows)


def _frame_from_files(path: Path, schema: pa.Schema, rows: int) -> DataFrame:
    """Return a frame of Parquet files.

    The limit is the number of all rows: predicates are not pushed below it, and Sail's scan of files fails on those
    with a lambda. The schema is a text, because the fields of another one have metadata in Sail, and rows of one array
    must agree in these, too.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    columns = ", ".join(f"`{each.name}` {each.dataType.simpleString()}" for each in from_arrow_schema(schema))
    return _process_session().read.schema(columns).parquet(str(path)).limit(rows)


def query(text: str, frames: Mapping[str, DataFrame]) -> DataFrame:
    """Return a query over frames that it names in braces, planned when it runs.

    `SparkSession.sql` also has the server plan it at once, to learn whether it is a command: a fifth of a detector's
    time.
    """
    from pyspark.sql.connect.dataframe import DataFrame
    from pyspark.sql.connect.plan import SQL, SubqueryAlias
    from pyspark.sql.connect.sql_formatter import SQLStringFormatter

    spark: Any = _process_session()
    formatter: Any = SQLStringFormatter(spark)
    formatted = formatter.format(text, **frames)
    views = [SubqueryAlias(frame._plan, name) for frame, name in formatter._temp_views]  # noqa: SLF001 - as `sql` does
    built: DataFrame = DataFrame(SQL(formatted, [], {}, views), spark)
    return built


def materialized(frame: DataFrame) -> DataFrame:
    """Return the computed frame, with all its fields nullable: Sail compares nullability field by field."""
    if has_many_rows(frame.sparkSession):
        return _written(frame)
    connect: Any = frame
    computed, _ = connect._to_table()  # noqa: SLF001 - as `collect` and `toArrow` do
    return frame_from_table(computed.cast(_result_schema(computed.schema)))


def _written(frame: DataFrame) -> DataFrame:
    """Return the frame, written by the engine into files of a folder. Of a result without rows it writes none."""
    import pyarrow.parquet as pq

    folder = TABLES.get().folder / str(uuid4())
    frame.write.option("compression", "uncompressed").parquet(str(folder))
    files = sorted(folder.glob("*.parquet"))
    if not files:
        from pyspark.sql.pandas.types import to_arrow_schema

        return frame_from_table(_nullable(to_arrow_schema(frame.schema, timezone="UTC")).empty_table())
    schema = _result_schema(pq.read_schema(files[0]))
    if sum(file.stat().st_size for file in files) <= INLINE_BYTES:
        return frame_from_table(pa.concat_tables([pq.read_table(file) for file in files]).cast(schema))
    return _frame_from_files(folder, schema, sum(pq.read_metadata(file).num_rows for file in files))


def _result_schema(computed: pa.Schema) -> pa.Schema:
    """Return the types of a result. `DataFrame.toArrow` would have the query planned once more for them."""
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    return _nullable(to_arrow_schema(from_arrow_schema(computed), timezone="UTC"))


def _nullable(schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(field.name, _nullable_type(field.type)) for field in schema])


def _nullable_type(kind: Any) -> pa.DataType:  # noqa: ANN401 - the stubs have a class a type
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _nullable_type(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_nullable_type(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, _nullable_type(kind.item_type))
    primitive: pa.DataType = kind
    return primitive
