"""Keeps PySpark from importing pandas (0.8 s a process), and from starting Python workers for a few rows (0.8 s)."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import cache
from importlib import import_module, metadata
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, GroupedData, SparkSession

PANDAS = "pandas"
TYPES = "pandas.api.types"


@cache
def _version() -> str:
    return metadata.version(PANDAS)


class _PandasClass(type):
    """The type of a class of pandas that no object has as long as pandas is not imported."""

    def __instancecheck__(cls, instance: object) -> bool:
        pandas = sys.modules.get(PANDAS)
        if pandas is None or isinstance(pandas, PostponedPandas):
            return False
        return isinstance(instance, getattr(pandas, cls.__name__))

    def __call__(cls, *args: object, **options: object) -> object:
        return getattr(_import_now(PANDAS), cls.__name__)(*args, **options)

    def __getattr__(cls, name: str) -> Any:  # noqa: ANN401 - whatever the class has
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(getattr(_import_now(PANDAS), cls.__name__), name)


class PostponedPandas(ModuleType):
    """pandas, imported when more of it is used than its version and the question whether an object is a frame of it."""

    def __init__(self) -> None:
        super().__init__(PANDAS)
        self.__version__ = _version()
        self.DataFrame, self.Series = (_PandasClass(each, (), {}) for each in ("DataFrame", "Series"))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever pandas has
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_import_now(PANDAS), name)


class PostponedTypes(ModuleType):
    """The functions of pandas.api.types. Each imports pandas when it is called."""

    def __init__(self) -> None:
        super().__init__(TYPES)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*args: object) -> object:
            return getattr(_import_now(TYPES), name)(*args)

        return call


@contextmanager
def postponed_pandas() -> Iterator[None]:
    """Postpone the import of pandas in the block, and in what PySpark imports there until it uses pandas.

    PySpark imports pandas to check its version, and wherever it also accepts frames of pandas.
    """
    if PANDAS in sys.modules:
        yield
        return
    sys.modules.update({PANDAS: PostponedPandas(), TYPES: PostponedTypes()})
    try:
        yield
    finally:
        _end_postponement()


def _import_now(name: str) -> ModuleType:
    _end_postponement()
    return import_module(name)


def _end_postponement() -> None:
    for name in (PANDAS, TYPES):
        if isinstance(sys.modules.get(name), PostponedPandas | PostponedTypes):
            del sys.modules[name]


class _NoPandas(MetaPathFinder):
    """Makes the import of pandas fail."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == PANDAS:
            raise ModuleNotFoundError(name=PANDAS)


def keep_pandas_from_arrow() -> None:
    """Let Arrow take it, in this whole process, that there is no pandas. Otherwise its first array imports pandas.

    For processes of our own alone: in a notebook, tables must still become frames of pandas.
    """
    import pyarrow as pa  # a module that a quick command does not need

    if PANDAS in sys.modules:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([None])
    finally:
        sys.meta_path.remove(finder)


def create_frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Return an Arrow table of the driver as a frame. Plain rows would need Python workers, which start in a second."""
    with postponed_pandas():
        if table.num_rows:
            return spark.createDataFrame(table)
        from pyspark.sql.pandas.types import from_arrow_schema  # Spark Connect needs a schema for an empty table

        return spark.createDataFrame(table, schema=from_arrow_schema(table.schema))


def map_in_arrow(frame: DataFrame, function: Any, schema: str) -> DataFrame:  # noqa: ANN401 - PySpark's own union
    """Call `frame.mapInArrow`, which checks pandas' version although it needs none."""
    with postponed_pandas():
        return frame.mapInArrow(function, schema)


def apply_in_arrow(groups: GroupedData, function: Any, schema: str) -> DataFrame:  # noqa: ANN401 - PySpark's own union
    """Call `groups.applyInArrow`, which checks pandas' version although it needs none."""
    with postponed_pandas():
        return groups.applyInArrow(function, schema)
