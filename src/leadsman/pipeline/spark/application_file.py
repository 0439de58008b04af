"""Makes leadsman one file for `spark-submit`: a zip that Python runs, under the name of a Python file.

spark-submit takes a file that ends with `.py`, and Python runs a zip whatever its name. leadsman reads templates and
cards beside its modules, so the zip unpacks itself into a folder that is removed at the end.
"""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

from leadsman.errors import UsageError
from leadsman.pipeline.spark.executors import CLIENTS, PACKAGE, complete_file

if TYPE_CHECKING:
    from pathlib import Path

MAIN = '''\
"""Runs leadsman out of this file."""
import os, sys, tempfile, zipfile

with tempfile.TemporaryDirectory(prefix="leadsman-application-") as folder:
    with zipfile.ZipFile(os.path.dirname(os.path.abspath(__file__))) as archive:
        archive.extractall(folder)
    sys.path.insert(0, folder)
    from leadsman.__main__ import main

    sys.exit(main())
'''

EXCLUDED_FOLDERS = frozenset({"__pycache__", "recorded", "samples"})
"""Recordings and samples, which only the lab and the tests read."""


def make_application(target: Path) -> int:
    """Write the file; return its size in bytes. Raises UsageError where it cannot be written, or is no `.py`."""
    if target.suffix != ".py":
        raise UsageError(f"spark-submit runs a file whose name ends with .py: --application {target.name}.py")
    with complete_file(target) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("__main__.py", MAIN)
        for folder in (PACKAGE, CLIENTS):
            for path in sorted(folder.rglob("*")):
                below = path.relative_to(folder.parent)
                if path.is_file() and not EXCLUDED_FOLDERS.intersection(below.parts):
                    archive.write(path, below.as_posix())
    return target.stat().st_size
