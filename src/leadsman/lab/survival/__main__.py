"""Puts plain and wrapped clients through faults on real brokers, and writes the tables of docs/clients.md.

python -m leadsman.lab.survival                      everything: about half an hour
python -m leadsman.lab.survival --only silence fork  these faults alone; the page keeps the others' last figures
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from leadsman.lab.survival.faults import every_fault
from leadsman.lab.survival.rows import play, save

RESULTS = Path("runs") / "survival.json"
"""Below the current folder, where other runs are as well."""


def main() -> None:
    """Play the faults one after the other: they would disturb each other's timing."""
    names = [fault.name for fault in every_fault()]
    parser = argparse.ArgumentParser(prog="python -m leadsman.lab.survival", description="What clients survive.")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="FAULT", help=", ".join(names))
    wanted = parser.parse_args().only
    for fault in every_fault():
        if fault.name in wanted:
            say(f"{fault.name}: {fault.says}")
            rows = play(fault)
            save(rows, RESULTS)
            for row in rows:
                say(f"  {row}")


def say(words: str) -> None:
    """Report progress."""
    print(words, file=sys.stderr, flush=True)  # noqa: T201 (a program's own voice)


if __name__ == "__main__":
    main()
