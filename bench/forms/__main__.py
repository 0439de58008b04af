"""Measures how fast each form is read in which telemetry comes, beside a plain peer on the same bytes.

python -m bench.forms              200 MB a form, three rounds by turns: hours on two quiet cores; writes its table
                                   into docs/performance.md
python -m bench.forms --mb 5 --rounds 1 --only tail
python -m bench.forms --against main        every form with this tree's leadsman and with that of a git revision, by
                                   turns; ends with 1 where one became more than a fifth slower
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bench import page
from bench.forms.compare import checked_out, compare, report
from bench.forms.rows import FORMS
from bench.forms.runs import FormResult, NotMeasured, measure
from bench.forms.table import table
from bench.measure import machine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bench.forms.form import Form

ENDED_BY_SIGTERM = 128 + signal.SIGTERM
MIN_MB = 50
"""Below this, a row is mostly what is done once."""


def main() -> None:
    """Form by form: generate, measure by turns, delete."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(ENDED_BY_SIGTERM))  # so that scratch and worktree go with it
    arguments = _arguments()
    chosen = [form for form in FORMS if arguments.only in form.name]
    if not chosen:
        sys.exit(f"No form's name holds {arguments.only!r}. There are: {', '.join(form.name for form in FORMS)}")
    if arguments.against:
        sys.exit(_compared(chosen, arguments))
    measured = list(_measured(chosen, arguments))
    section = "\n".join((*_about(arguments), *table(measured)))
    print(section)
    if missing := {form.name for form in chosen} - {row.form.name for row in measured}:
        sys.exit(f"Not measured: {', '.join(sorted(missing))}")
    if not arguments.only and arguments.mb >= MIN_MB:
        page.put("forms", section)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.forms", description="Measure each form of telemetry.")
    parser.add_argument("--mb", type=int, default=200, help="megabytes of each form")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is read")
    parser.add_argument("--only", default="", help="forms whose names hold this")
    parser.add_argument("--against", default="", metavar="REVISION", help="compare with leadsman of this git revision")
    return parser.parse_args()


def _about(arguments: argparse.Namespace) -> Iterable[str]:
    about = ", ".join(f"{key}: {value}" for key, value in machine().items())
    return (f"{arguments.rounds} rounds by turns, medians. {about[0].upper()}{about[1:]}.", "")


def _measured(chosen: Iterable[Form], arguments: argparse.Namespace) -> Iterator[FormResult]:
    for form in chosen:
        with _scratch() as work:
            try:
                yield measure(form, work, arguments.mb * 1_000_000, rounds=arguments.rounds, report=_report)
            except NotMeasured as error:  # the others' hours are not lost by it
                _report(f"  {form.name} is left out: {error}")


def _compared(chosen: Iterable[Form], arguments: argparse.Namespace) -> int:
    compared = []
    with _scratch() as place, checked_out(arguments.against, place) as theirs:
        for form in chosen:
            with _scratch() as work:
                size = arguments.mb * 1_000_000
                compared.append(compare(form, work, size, theirs=theirs, rounds=arguments.rounds, report=_report))
    text, failed = report(compared, arguments.against)
    print(text)
    return 1 if failed else 0


@contextmanager
def _scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="leadsman-forms-") as work:
        yield Path(work).resolve()


def _report(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
