"""Runs the incidents while Prometheus scrapes brokers, clients and hosts, and writes the table of docs/prevention.md.

python -m leadsman.lab.alerts                                 all trials: about an hour
python -m leadsman.lab.alerts --only producer_id_leak:broken  this one alone; the page keeps the others' last figures
python -m leadsman.lab.alerts --only                          none: write the page anew from the saved figures
python -m leadsman.lab.alerts --against FOLDER                also with the public rule files (*.yml) of a folder
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import yaml

from leadsman.lab.alerts.measure import measure, rule_names
from leadsman.lab.alerts.table import BEGIN, END, render
from leadsman.lab.alerts.trials import TRIALS
from leadsman.lab.survival.table import replace_between

RESULTS = Path("docs/alerts.json")
PAGE = Path("docs/prevention.md")
"""In a clone of leadsman, where this program runs."""


def main() -> None:
    """Run one variant after the other, and save the figures of each at once."""
    parser = argparse.ArgumentParser(prog="python -m leadsman.lab.alerts", description="How soon alerts fire.")
    names = [each.name for each in TRIALS]
    parser.add_argument("--only", nargs="*", choices=names, metavar="MODE:VARIANT", help=", ".join(names))
    parser.add_argument("--against", type=Path, help="a folder of public rule files, to be measured on the same runs")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where figures are kept")
    parser.add_argument("--page", type=Path, default=PAGE, help="where the table stands")
    arguments = parser.parse_args()
    others = {} if arguments.against is None else _read_rules(arguments.against)
    measured = json.loads(arguments.results.read_text(encoding="utf-8")) if arguments.results.exists() else {}
    for name, trial in zip(names, TRIALS, strict=True):
        if arguments.only is None or name in arguments.only:
            report(name)
            measured[name] = {**measure(trial, others, report), "against": rule_names(others)}
            ordered = {each: measured[each] for each in names if each in measured}
            arguments.results.write_text(json.dumps(ordered, indent=2) + "\n", encoding="utf-8")
    page = arguments.page.read_text(encoding="utf-8")
    arguments.page.write_text(replace_between(page, (BEGIN, END), render(measured)), encoding="utf-8")


def _read_rules(folder: Path) -> dict[str, Any]:
    """Return the rule files; two sets use the same names, so the file's name becomes a part of each alert's."""
    documents = {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.yml"))}
    for name, document in documents.items():
        for rule in (rule for group in document["groups"] for rule in group["rules"] if "alert" in rule):
            rule["alert"] = f"{name}/{rule['alert']}"
    return documents


def report(line: str) -> None:
    """Report progress."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - the progress of a command


if __name__ == "__main__":
    main()
