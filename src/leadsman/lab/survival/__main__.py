"""Runs plain and wrapped clients through faults on real brokers, and writes the table of docs/clients.md.

python -m leadsman.lab.survival                      everything: about half an hour
python -m leadsman.lab.survival --only silence fork  these faults alone; the page keeps the others' last figures
python -m leadsman.lab.survival --only               none: write the page anew from the saved figures

Exit code 1: a wrapped client broke a guarantee.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from leadsman.lab.survival.faults import every_fault
from leadsman.lab.survival.guarantees import violations
from leadsman.lab.survival.results import load, run_fault, save
from leadsman.lab.survival.table import insert_table

DOCS = Path("docs")
"""In a clone of leadsman, where this program runs."""


def main() -> None:
    """Run the faults one after the other: side by side they would disturb each other's timing."""
    faults = {fault.name: fault for fault in every_fault()}
    parser = argparse.ArgumentParser(prog="python -m leadsman.lab.survival", description="What clients survive.")
    parser.add_argument("--only", nargs="*", choices=faults, metavar="FAULT", help=", ".join(faults))
    parser.add_argument("--results", type=Path, default=DOCS / "survival.json", help="where figures are kept")
    parser.add_argument("--page", type=Path, default=DOCS / "clients.md", help="where the table stands")
    arguments = parser.parse_args()
    page = arguments.page.read_text(encoding="utf-8")
    for name in faults if arguments.only is None else arguments.only:
        report(f"{name}: {faults[name].description}")
        result = run_fault(faults[name])
        save(result, arguments.results, order=tuple(faults))
        for row in result.rows:
            report(f"  {row}")
    measured = load(arguments.results)
    arguments.page.write_text(insert_table(page, measured), encoding="utf-8")
    broken = [sentence for each in measured for sentence in violations(each)]
    for sentence in broken:
        report(sentence)
    sys.exit(1 if broken else 0)


def report(line: str) -> None:
    """Report progress."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - the progress of a command


if __name__ == "__main__":
    main()
