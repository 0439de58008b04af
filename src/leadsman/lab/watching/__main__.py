"""Runs the incidents while `leadsman watch` follows their telemetry, and writes the table of docs/watch.md.

python -m leadsman.lab.watching                                all incidents: about a quarter of an hour
python -m leadsman.lab.watching --only idle_disconnect:broken  this one alone; the page keeps the others' last figures
python -m leadsman.lab.watching --only                         none: write the page anew from the saved figures
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from leadsman.lab.survival.table import replace_between
from leadsman.lab.watching.incidents import INCIDENTS
from leadsman.lab.watching.measure import measure
from leadsman.lab.watching.table import BEGIN, END, render

RESULTS = Path("docs/watching.json")
PAGE = Path("docs/watch.md")
"""In a clone of leadsman, where this program runs."""


def main() -> None:
    """Run one incident after the other, and save the figures of each at once."""
    parser = argparse.ArgumentParser(prog="python -m leadsman.lab.watching", description="How soon a watch reports.")
    names = [each.name for each in INCIDENTS]
    parser.add_argument("--only", nargs="*", choices=names, metavar="MODE:VARIANT", help=", ".join(names))
    parser.add_argument("--results", type=Path, default=RESULTS, help="where figures are kept")
    parser.add_argument("--page", type=Path, default=PAGE, help="where the table stands")
    arguments = parser.parse_args()
    measured = json.loads(arguments.results.read_text(encoding="utf-8")) if arguments.results.exists() else {}
    for incident in INCIDENTS:
        if arguments.only is None or incident.name in arguments.only:
            report(incident.name)
            measured[incident.name] = measure(incident, report)
            ordered = {each: measured[each] for each in names if each in measured}
            arguments.results.write_text(json.dumps(ordered, indent=2) + "\n", encoding="utf-8")
    page = arguments.page.read_text(encoding="utf-8")
    arguments.page.write_text(replace_between(page, (BEGIN, END), render(measured)), encoding="utf-8")


def report(line: str) -> None:
    """Report progress."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - the progress of a command


if __name__ == "__main__":
    main()
