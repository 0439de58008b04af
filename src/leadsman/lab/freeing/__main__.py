"""Tries every method to free producer ids on a real broker of each era, and writes the figures.

python -m leadsman.lab.freeing                      all eras: about ten minutes
python -m leadsman.lab.freeing --only 4.3.1         this version alone; the page keeps the others' last figures
python -m leadsman.lab.freeing --only               none: write the page anew from the saved figures
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from leadsman.lab.brokers.cluster import versions
from leadsman.lab.freeing.measure import measure_version
from leadsman.lab.freeing.table import BEGIN, END, render
from leadsman.lab.survival.table import replace_between

RESULTS = Path("docs/freeing.json")
PAGE = Path("src/leadsman/modes/producer_id_leak/page.md")
"""In a clone of leadsman, where this program runs."""


def main() -> None:
    """Measure one version after the other; a broker at a time is enough for two cores."""
    parser = argparse.ArgumentParser(prog="python -m leadsman.lab.freeing", description="What frees producer ids.")
    parser.add_argument("--only", nargs="*", choices=versions(), metavar="VERSION", help=", ".join(versions()))
    parser.add_argument("--results", type=Path, default=RESULTS, help="where figures are kept")
    parser.add_argument("--page", type=Path, default=PAGE, help="where the table stands")
    arguments = parser.parse_args()
    measured = json.loads(arguments.results.read_text(encoding="utf-8")) if arguments.results.exists() else {}
    for version in versions() if arguments.only is None else arguments.only:
        measured[version] = measure_version(version, report)
        ordered = {each: measured[each] for each in versions() if each in measured}
        arguments.results.write_text(json.dumps(ordered, indent=2) + "\n", encoding="utf-8")
    page = arguments.page.read_text(encoding="utf-8")
    arguments.page.write_text(replace_between(page, (BEGIN, END), render(measured)), encoding="utf-8")


def report(line: str) -> None:
    """Report progress."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - the progress of a command


if __name__ == "__main__":
    main()
