"""A heap dump as text: the class histogram that jcmd would have printed, and who holds what is of interest.

python -m leadsman.telemetry.hprof.histogram DUMP [CLASS]     for where the dump itself cannot go: it holds data
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.telemetry.hprof.holders import holders
from leadsman.telemetry.hprof.reading import read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.telemetry.hprof.reading import Contents

BLOCK_BYTES = 1 << 18

HEAD = " num     #instances         #bytes  class name (module)\n" + "-" * 55 + "\n"

PRODUCER_STATE = ("org.apache.kafka.storage.internals.log.ProducerStateEntry", "kafka.log.ProducerStateEntry")
"""One for each producer id of each partition on a broker, leader or follower; the second name up to 3.4."""


def of_file(path: Path, classes: tuple[str, ...] = PRODUCER_STATE) -> tuple[Contents, Counter[str]]:
    """Read a dump that lies on disk as it was written. OSError where it breaks off."""
    contents = read(blocks_of(path), classes)
    return contents, holders(str(path), contents) if contents.samples else Counter()


def blocks_of(path: Path) -> Iterator[bytes]:
    """Yield a file block by block."""
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            yield block


def text(contents: Contents, held: Counter[str], name: str) -> str:
    """Return the histogram; below it who holds the instances of the class `name`."""
    rows = contents.histogram()
    lines = [f"{rank:4}: {count:13} {size:14}  {each}\n" for rank, (count, size, each) in enumerate(rows, start=1)]
    total = f"Total {sum(row[0] for row in rows):13} {sum(row[1] for row in rows):14}\n"
    samples = len(contents.samples)
    told = [f"Held: {times} of {samples} samples of {name} by {path}\n" for path, times in held.most_common()]
    return "".join([HEAD, *lines, total, *told])


def main() -> None:
    """Print a dump's histogram."""
    path, *classes = sys.argv[1:]
    wanted = tuple(classes) or PRODUCER_STATE
    contents, held = of_file(Path(path), wanted)
    there = {name for _, _, name in contents.histogram()}
    name = next((each for each in wanted if each in there), wanted[0])
    sys.stdout.write(text(contents, held, name))


if __name__ == "__main__":
    main()
