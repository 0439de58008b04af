"""Builds the archive of the Spark jobs, for `spark-submit --py-files`: the application's own code and CSV files.

    python reference/account_linking/deploy/spark_archive.py [--out FILE]

The cluster needs Delta and the Kafka packages of its Spark; no Python package beside PySpark and Delta.
"""

from __future__ import annotations

import argparse
import sys
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"
LEFT_OUT = ("__pycache__", "demo")
STAMP = (2020, 1, 1, 0, 0, 0)
"""Every file's time, so that equal content is an equal file."""


def main() -> int:
    """Build the archive."""
    parser = argparse.ArgumentParser(description="Build the archive of the account-linking application's Spark jobs.")
    parser.add_argument("--out", type=Path, default=Path("build/account-linking-spark.zip"))
    out: Path = parser.parse_args().out
    out.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(SOURCE.rglob("*")):
            if path.is_file() and not set(LEFT_OUT) & set(path.parts):
                info = zipfile.ZipInfo(path.relative_to(SOURCE).as_posix(), STAMP)
                info.external_attr = 0o644 << 16
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, path.read_bytes())
    sys.stdout.write(f"{out}: {out.stat().st_size / 1000:.0f} kB\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
