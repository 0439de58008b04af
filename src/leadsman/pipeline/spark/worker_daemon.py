"""Forks the Python workers of our own JVM, after it has imported what all of them need.

PySpark's own daemon imports little before it forks, so that each worker imports the rest again. Without pandas, which
Arrow would import to recognise its classes, a first task begins a second earlier.
"""

from __future__ import annotations

from importlib import import_module

from pyspark.daemon import manager

from leadsman.pipeline.spark.pyspark_startup import keep_pandas_from_arrow

PRELOADED = ("pyspark.worker", "leadsman.pipeline.diagnose_in_tasks", "leadsman.pipeline.diagnose_in_session")
"""Nothing here starts a thread, which a fork would lose."""

if __name__ == "__main__":
    keep_pandas_from_arrow()
    for name in PRELOADED:
        import_module(name)
    manager()
