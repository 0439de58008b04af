"""Puts plain and wrapped clients through faults on real brokers, and writes the table of docs/clients.md.

python -m leadsman.lab.survival                      everything: about half an hour
python -m leadsman.lab.survival --only silence fork  these faults alone; the page keeps the others' last figures
python -m leadsman.lab.survival --only               none: write the page anew from what was measured

Exit code 1: a wrapped client broke its promise.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from leadsman.lab.survival.faults import every_fault
from leadsman.lab.survival.promise import broken
from leadsman.lab.survival.rows import load, play, save
from leadsman.lab.survival.table import into

DOCS = Path("docs")
"""Of a clone of leadsman: the program is run there."""


def main() -> None:
    """Play the faults one after the other: they would disturb each other's timing."""
    faults = {fault.name: fault for fault in every_fault()}
    parser = argparse.ArgumentParser(prog="python -m leadsman.lab.survival", description="What clients survive.")
    parser.add_argument("--only", nargs="*", choices=faults, metavar="FAULT", help=", ".join(faults))
    parser.add_argument("--results", type=Path, default=DOCS / "survival.json", help="where figures are kept")
    parser.add_argument("--page", type=Path, default=DOCS / "clients.md", help="where the table stands")
    asked = parser.parse_args()
    page = asked.page.read_text(encoding="utf-8")
    for name in faults if asked.only is None else asked.only:
        say(f"{name}: {faults[name].says}")
        played = play(faults[name])
        save(played, asked.results, order=tuple(faults))
        for row in played.rows:
            say(f"  {row}")
    measured = load(asked.results)
    asked.page.write_text(into(page, measured), encoding="utf-8")
    complaints = [words for each in measured for words in broken(each)]
    for words in complaints:
        say(words)
    sys.exit(1 if complaints else 0)


def say(words: str) -> None:
    """Report progress."""
    print(words, file=sys.stderr, flush=True)  # noqa: T201 (a program's own voice)


if __name__ == "__main__":
    main()
