"""Tries every way to free brokers of producer ids, on a real broker of each era, and writes what came of it.

python -m leadsman.lab.freeing                      all eras: about ten minutes
python -m leadsman.lab.freeing --only 4.3.1         this version alone; the page keeps the others' last figures
python -m leadsman.lab.freeing --only               none: write the page anew from what was measured
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from leadsman.lab.cluster import versions
from leadsman.lab.freeing.measure import of_version
from leadsman.lab.freeing.table import BEGIN, END, text
from leadsman.lab.survival.table import between

RESULTS = Path("docs/freeing.json")
PAGE = Path("src/leadsman/modes/producer_id_leak/page.md")
"""Of a clone of leadsman: the program is run there."""


def main() -> None:
    """Measure one version after the other; a broker at a time is enough for two cores."""
    parser = argparse.ArgumentParser(prog="python -m leadsman.lab.freeing", description="What frees producer ids.")
    parser.add_argument("--only", nargs="*", choices=versions(), metavar="VERSION", help=", ".join(versions()))
    parser.add_argument("--results", type=Path, default=RESULTS, help="where figures are kept")
    parser.add_argument("--page", type=Path, default=PAGE, help="where the table stands")
    asked = parser.parse_args()
    known = json.loads(asked.results.read_text(encoding="utf-8")) if asked.results.exists() else {}
    for version in versions() if asked.only is None else asked.only:
        known[version] = of_version(version, say)
        ordered = {each: known[each] for each in versions() if each in known}
        asked.results.write_text(json.dumps(ordered, indent=2) + "\n", encoding="utf-8")
    page = asked.page.read_text(encoding="utf-8")
    asked.page.write_text(between(page, (BEGIN, END), text(known)), encoding="utf-8")


def say(words: str) -> None:
    """Report progress."""
    print(words, file=sys.stderr, flush=True)  # noqa: T201 (a program's own voice)


if __name__ == "__main__":
    main()
