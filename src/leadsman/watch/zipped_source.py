"""The streaming source where Spark's processes lack this package: the source takes it from a zip in the state's folder.

Spark 4.2 gives the packages of a session to its tasks and functions, but not to a streaming query of Spark Connect:
neither to the process that lists a Python source, nor to the tasks that read it. The process that lists gets no
file of spark-submit (`--py-files`) either. So the classes are sent with this module in them, and nothing here imports
this package before its zip is on the path.
"""

from __future__ import annotations

import pickle
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

NAME = "leadsman_watch_zipped"
PACKAGE = "package"
"""The option that holds the path of the zip."""


@dataclass(frozen=True)
class SourceFromZip:
    """Makes the source of a watch, with these options, of the code in a zip."""

    package: str
    options: dict[str, str]

    def __call__(self) -> Any:  # noqa: ANN401 - its class is in the zip
        """Return the source."""
        if self.package not in sys.path:
            sys.path.insert(0, self.package)
        from leadsman.watch.source import WatchSource

        return WatchSource(self.options)


class ZippedWatchSource(DataSource):
    """The source of a watch, whose code is in a zip."""

    @classmethod
    def name(cls) -> str:
        """Return the name by which a query reads the source."""
        return NAME

    def schema(self) -> str:
        """Return the schema of packed events."""
        return str(self._make()().schema())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - PySpark's signature
        """Return the reader."""
        return ZippedWatchReader(self._make(), schema)

    def _make(self) -> SourceFromZip:
        return SourceFromZip(self.options[PACKAGE], dict(self.options))


class ZippedPartition(InputPartition):
    """The streams that one task reads, in bytes that need no package."""


class ZippedWatchReader(DataSourceStreamReader):
    """The reader of a watch, made anew in each process."""

    def __init__(self, make: SourceFromZip, schema: StructType) -> None:
        self._make = make
        self._schema = schema
        self._made: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_made": None}

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - PySpark's signature
        """Return the offset before the first line."""
        return dict(self._reader().initialOffset())

    def latestOffset(self, start: dict[str, int] | None = None, limit: Any = None) -> dict[str, int]:  # noqa: N802, ANN401 - PySpark's signature
        """Return the next offset where something was appended, else the same one."""
        return dict(self._reader().latestOffset(start, limit))

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Return the shares of the streams that changed between two offsets."""
        return [ZippedPartition(pickle.dumps(each)) for each in self._reader().partitions(start, end)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the packed events of a share."""
        reader = self._reader()
        yield from reader.read(pickle.loads(partition.value))  # noqa: S301 - made by `partitions`

    def commit(self, end: dict[str, int]) -> None:
        """Remove what no restart needs."""
        self._reader().commit(end)

    def _reader(self) -> Any:  # noqa: ANN401 - its class is in the zip
        self._made = self._made or self._make().streamReader(self._schema)
        return self._made


def register(spark: SparkSession, folder: Path) -> Path:
    """Register the source, put the zip that it needs into the folder, and return the zip's path."""
    from pyspark.cloudpickle import register_pickle_by_value

    from leadsman.pipeline.spark.executors import package_zip

    register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]  # PySpark has no types for it
    spark.dataSource.register(ZippedWatchSource)
    made = package_zip()
    target = folder / made.name
    if not target.exists():
        part = target.with_suffix(".part")
        shutil.copyfile(made, part)
        part.replace(target)
    for old in folder.glob("leadsman-*.zip"):
        if old != target:
            old.unlink(missing_ok=True)
    return target
