"""Spark SQL inside one Python process, for captures that fit into its memory: Sail, called as any Spark session is.

A detector is some forty small queries. Catalyst analyses and plans each anew, in seconds whatever the size; this engine
takes milliseconds. It runs in the tasks of a Spark job, one session a worker process, kept as long as that lives.

What it does otherwise than Spark, in the SQL of this project:
`* EXCEPT` and `GROUP BY ALL` it does not know; `t.*` after `JOIN ... USING` leaves out the columns joined by.
Rows of one array, and arrays that are put together, must agree in which fields may be null (`shapes.nullable`).
`IF`, `CASE` and `UNION ALL` have the type of their first branch: a whole number first, and fractions are an error.
`collect_list` over a window lists nulls, and is null where there is nothing. Such a list also grows with the square of
a storm, in either engine: no detector makes one.
Patterns are Rust's: no look-around. A `FILTER` over a window, `zip_with` and `list[i]` in a lambda are unknown.
`array_contains` of an array with nulls is false where Spark says null. Large numbers as text have no exponent.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa

from leadsman.pipeline.lean import frame_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

SENT_BYTES = 1 << 20
"""A table of this size goes with each query that reads it, which takes no longer than to have it read from a file."""

MEMORY = Path("/dev/shm")  # noqa: S108 - folders of one process each, made by mkdtemp
SHELF: ContextVar[Path] = ContextVar("SHELF")
"""Where tables lie that are read by several queries."""


@contextmanager
def running() -> Iterator[SparkSession]:
    """Yield this process's session, with a folder in memory, or else on disk, for what queries share."""
    parent = MEMORY if os.access(MEMORY, os.W_OK) else Path(tempfile.gettempdir())
    _sweep(parent)
    with tempfile.TemporaryDirectory(prefix=f"{_prefix()}{os.getpid()}-", dir=parent) as folder:
        token = SHELF.set(Path(folder))
        try:
            yield session()
        finally:
            SHELF.reset(token)


@cache
def session() -> SparkSession:
    """Return this process's own session. It is gone with the process."""
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"  # `pyspark.sql.functions` are those of Spark Connect from now on
    os.environ.setdefault("RUST_LOG", "off")
    from pysail.spark import SparkConnectServer  # noqa: PLC0415 - 60 MB that only a task needs
    from pyspark.sql import SparkSession  # noqa: PLC0415

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    host, port = server.listening_address
    made: Any = SparkSession.builder.remote(f"sc://{host}:{port}").create()
    made.conf.set("spark.sql.session.timeZone", "UTC")
    made.leadsman_server = server  # ends with its last reference
    running: SparkSession = made
    return running


def is_embedded(spark: SparkSession) -> bool:
    """Whether a session is the one of this process."""
    return "pysail.spark" in sys.modules and spark is session()


def held(table: pa.Table) -> DataFrame:
    """Return a table as a frame that is read without being sent again with each query.

    The limit is all rows: below it go no predicates, and those with a lambda fail in the engine's scan of files.
    """
    if table.nbytes <= SENT_BYTES:
        return frame_of(session(), table)
    import pyarrow.parquet as pq  # noqa: PLC0415 - only for large tables

    file = SHELF.get() / f"{uuid4()}.parquet"
    pq.write_table(table, file, compression="none")
    return session().read.parquet(str(file)).limit(table.num_rows)


def settled(frame: DataFrame) -> DataFrame:
    """Return a frame computed, with all its fields nullable: the engine compares what may be null field by field."""
    computed: Any = frame.toArrow()
    return held(computed.cast(_nullable(computed.schema)))


def _nullable(schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(field.name, _type(field.type)) for field in schema])


def _type(kind: Any) -> pa.DataType:  # noqa: ANN401 - the stubs have a class a type
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _type(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_type(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, _type(kind.item_type))
    whole: pa.DataType = kind
    return whole


def _prefix() -> str:
    return f"leadsman-{os.getuid()}-"


def _sweep(parent: Path) -> None:
    """Remove what processes of ours left that were killed."""
    for folder in parent.glob(f"{_prefix()}*-*"):
        owner = folder.name.removeprefix(_prefix()).partition("-")[0]
        if owner.isdigit() and not Path("/proc", owner).exists():
            with suppress(OSError):
                shutil.rmtree(folder)
