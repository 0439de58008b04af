"""A heap dump as text: the class histogram that jcmd would have printed, and what refers to instances of one class.

python -m leadsman.telemetry.hprof.histogram DUMP [CLASS]     where the dump, which holds data, cannot be copied
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.telemetry.hprof.reader import read_dump
from leadsman.telemetry.hprof.reference_paths import reference_paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.telemetry.hprof.reader import HeapContents

BLOCK_BYTES = 1 << 18

HEADING = " num     #instances         #bytes  class name (module)\n" + "-" * 55 + "\n"

PRODUCER_STATE = ("org.apache.kafka.storage.internals.log.ProducerStateEntry", "kafka.log.ProducerStateEntry")
"""One for each producer id of each partition on a broker, leader or follower; the second name up to 3.4."""


def read_file(path: Path, classes: tuple[str, ...] = PRODUCER_STATE) -> tuple[HeapContents, Counter[str]]:
    """Read an uncompressed dump from disk. OSError where it breaks off."""
    contents = read_dump(read_blocks(path), classes)
    return contents, reference_paths(str(path), contents) if contents.samples else Counter()


def read_blocks(path: Path) -> Iterator[bytes]:
    """Yield a file block by block."""
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            yield block


def histogram_text(contents: HeapContents, holders: Counter[str], name: str) -> str:
    """Return the histogram; below it the paths that refer to instances of the class `name`."""
    rows = contents.histogram()
    lines = [f"{rank:4}: {count:13} {size:14}  {each}\n" for rank, (count, size, each) in enumerate(rows, start=1)]
    total = f"Total {sum(row[0] for row in rows):13} {sum(row[1] for row in rows):14}\n"
    samples = len(contents.samples)
    paths = [f"Held: {count} of {samples} samples of {name} by {path}\n" for path, count in holders.most_common()]
    return "".join([HEADING, *lines, total, *paths])


def main() -> None:
    """Print a dump's histogram."""
    path, *classes = sys.argv[1:]
    selected = tuple(classes) or PRODUCER_STATE
    contents, holders = read_file(Path(path), selected)
    present = {name for _, _, name in contents.histogram()}
    name = next((each for each in selected if each in present), selected[0])
    sys.stdout.write(histogram_text(contents, holders, name))


if __name__ == "__main__":
    main()
