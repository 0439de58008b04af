"""A coverage-guided fuzz target for the reader of files, in the form that OSS-Fuzz runs (Atheris).

    .venv/bin/uv pip install --python .venv atheris
    .venv/bin/python scripts/fuzz_reader.py -max_total_time=3600 CORPUS_FOLDER

`python -m leadsman.lab.fuzzing` needs no Atheris: it damages the files of the recordings.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["leadsman.telemetry", "leadsman.pipeline.read", "leadsman.sections"]):
    from leadsman.lab.fuzzing.campaign import FuzzCounts, read_one

FOLDER = Path(tempfile.mkdtemp(prefix="leadsman-fuzz-"))
NAMES = ("server.log", "output.txt", "records.json", "kernel.pcap", "heap.hprof", "orders.snapshot", "logs.gz")


def read_input(data: bytes) -> None:
    """Read one file. Its first byte chooses a name: of some outputs the name dates the lines."""
    if not data:
        return
    path = FOLDER / NAMES[data[0] % len(NAMES)]
    path.write_bytes(data[1:])
    counts = FuzzCounts()
    read_one(path, len(data), counts, example=path.name)
    faults = {**counts.escaped, **counts.over_budget, **counts.isolated}
    if faults:
        raise RuntimeError(f"The reader failed: {', '.join(faults)}")


if __name__ == "__main__":
    atheris.Setup(sys.argv, read_input)
    atheris.Fuzz()
