"""pandas stays out of processes that need none, and is there for those that use it."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITH_EMBEDDED_ENGINE = """
import sys
import pyarrow as pa
from leadsman.pipeline.spark.embedded import embedded_session, materialized
from leadsman.pipeline.spark.pyspark_startup import create_frame, keep_pandas_from_arrow, postponed_pandas
"""

QUERY = """
with embedded_session() as spark:
    frame = materialized(create_frame(spark, pa.table({"word": ["a", None]})))
    assert [row["word"] for row in frame.collect()] == ["a", None]
"""


def run(program: str) -> None:
    """Run a program in a process of its own, as a process imports pandas once."""
    done = subprocess.run([sys.executable, "-c", WITH_EMBEDDED_ENGINE + program], capture_output=True, text=True)  # noqa: PLW1510 - the assertion shows why
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(
            "keep_pandas_from_arrow()\n" + QUERY + "assert 'pandas' not in sys.modules", id="not imported for queries"
        ),
        pytest.param(
            "keep_pandas_from_arrow()\n" + QUERY + "import pandas\nassert pandas.DataFrame({'a': [1]}).shape == (1, 1)",
            id="importable afterwards",
        ),
        pytest.param(
            QUERY + "assert list(frame.toPandas()['word']) == ['a', None]\n"
            "import pandas\nassert spark.createDataFrame(pandas.DataFrame({'a': [1]})).collect()[0]['a'] == 1",
            id="frames of pandas are read and made by a session that was opened without it",
        ),
        pytest.param(
            "with postponed_pandas():\n    import pandas as postponed\n"
            "assert 'pandas' not in sys.modules\n"
            "assert not isinstance(1, postponed.DataFrame)\n"
            "assert isinstance(postponed.DataFrame({'a': [1]}), __import__('pandas').DataFrame)\n"
            "assert isinstance(__import__('pandas').Series([1]), postponed.Series)\n"
            "assert postponed.DataFrame.from_dict({'a': [1]}).shape == (1, 1)",
            id="a module that holds the postponed pandas uses the real one",
        ),
        pytest.param(
            "with postponed_pandas():\n    import pandas as postponed\n    postponed.NaT\n"
            "    import pandas\n    assert pandas is not postponed and pandas.NaT is postponed.NaT",
            id="used within the block",
        ),
    ],
)
def test_pandas_is_imported_on_first_use_alone(program: str) -> None:
    """PySpark and Arrow import pandas in every process, a second each, to recognise its classes."""
    run(program)


WORKER = """
from leadsman.pipeline.spark.pyspark_startup import map_in_arrow
from leadsman.pipeline.spark.session import session

def modules(batches):
    import pyarrow as pa
    for _ in batches:
        found = [module.__file__ for name, module in sys.modules.items() if name in ("pandas", "pyspark.worker")]
        yield pa.RecordBatch.from_pydict({"file": found})

with session() as spark:
    files = [row["file"] for row in map_in_arrow(spark.range(0, 1, 1, 1), modules, "file string").collect()]
    assert len(files) == 1 and ".zip" not in files[0], files
"""


@pytest.mark.spark
def test_a_worker_of_our_own_jvm_imports_compiled_modules_and_no_pandas() -> None:
    """With SPARK_HOME set, workers import PySpark from a zip without compiled modules."""
    run(WORKER)
