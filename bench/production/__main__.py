"""Diagnoses telemetry as production hands it over, and counts how often the verdicts are an expert's: docs/truth.md.

python -m bench.production                          every case, at a test's size; writes docs/truth.md
python -m bench.production --size medium            50 MB a case; `large`: 1 GB
python -m bench.production --only ids/              cases whose names begin so; on the screen only
python -m bench.production --keep FOLDER            keeps captures, and what was said of each as text and JSON
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from bench.production import catalogue
from bench.production.case import SEED, CaptureSize
from bench.production.page import write_page
from bench.production.score import NamedConditions, conditions, faults, scored, table, worst
from rich.console import Console

from leadsman.catalogue import every_mode
from leadsman.cli.options import time_zone
from leadsman.pipeline.diagnose import diagnose
from leadsman.pipeline.request import DiagnosisRequest, find_input, read_small_input
from leadsman.pipeline.spark.session import SessionOptions, session
from leadsman.report.console.findings import show_diagnoses
from leadsman.report.json_documents.findings import findings_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bench.production.case import DiagnosisCase
    from pyspark.sql import SparkSession

    from leadsman.model import Diagnosis


TOGETHER = 30
"""Cases of a test's size that are diagnosed in one Spark job."""


def main() -> int:
    """Write, diagnose, count. Exit code 1 where a verdict is PRESENT that should not be."""
    arguments = _arguments()
    size = CaptureSize[arguments.size.upper()]
    cases = [case for case in catalogue.cases() if case.name.startswith(tuple(arguments.only or [""]))]
    with _folder(arguments.keep) as folder, session(SessionOptions()) as spark:
        results_by_case = [
            each for chunk in _chunks(cases, size) for each in _judged(spark, chunk, size, folder=folder)
        ]
    results = [each for case, diagnoses in results_by_case for each in scored(case, _verdicts(diagnoses))]
    named = [
        NamedConditions(case, frozenset(each.kind for one in diagnoses for each in one.conditions))
        for case, diagnoses in results_by_case
    ]
    print("\n".join([*table(results), "", *faults(results), "", *conditions(named)]))
    if not arguments.only:
        write_page(results, named, size=size)
    return int(any(each.outcome == "false PRESENT" for each in results))


def _judged(
    spark: SparkSession, cases: Sequence[DiagnosisCase], size: CaptureSize, *, folder: Path
) -> list[tuple[DiagnosisCase, list[Diagnosis]]]:
    """Write some cases, diagnose them in one job, and return what was said of each."""
    case_folders = {str(_written(case, size, folder)): case for case in cases}
    started = time.monotonic()
    inputs = find_input(list(case_folders), time_zone(cases[0].options.get("timezone", "UTC")))
    diagnoses = diagnose(spark, read_small_input(inputs), DiagnosisRequest(modes=list(every_mode())))
    print(f"{len(cases)} cases from {cases[0].name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    of_case: dict[str, list[Diagnosis]] = defaultdict(list)
    for each in diagnoses:
        of_case[
            next(case_folder for case_folder in case_folders if Path(each.path).is_relative_to(case_folder))
        ].append(each)
    for case_folder, diagnoses_of_case in of_case.items():
        _kept(Path(case_folder), diagnoses_of_case)
        if size > CaptureSize.TEST:
            shutil.rmtree(case_folder)
    return [(case, of_case[case_folder]) for case_folder, case in case_folders.items()]


def _verdicts(diagnoses: Sequence[Diagnosis]) -> Mapping[str, str]:
    modes = {mode for each in diagnoses for mode in each.verdicts}
    return {mode: worst(str(each.verdicts[mode]) for each in diagnoses) for mode in modes}


def _written(case: DiagnosisCase, size: CaptureSize, folder: Path) -> Path:
    case_folder = folder / case.name
    case_folder.mkdir(parents=True)
    case.write(case_folder, Random(f"{SEED} {case.name}"), int(size))
    return case_folder


def _kept(case_folder: Path, diagnoses: Sequence[Diagnosis]) -> None:
    """Write what was said of a case beside it, to be read by eye."""
    case_folder.with_name(f"{case_folder.name}.findings.json").write_text(findings_json(diagnoses) + "\n")
    with case_folder.with_name(f"{case_folder.name}.findings.txt").open("w") as file:
        show_diagnoses(diagnoses, Console(file=file, width=120))


def _chunks(cases: Sequence[DiagnosisCase], size: CaptureSize) -> Iterator[Sequence[DiagnosisCase]]:
    """Yield cases that can be diagnosed together: of one zone, and so many that they fit into memory."""
    zones: dict[str, list[DiagnosisCase]] = defaultdict(list)
    for case in cases:
        zones[json.dumps(dict(case.options), sort_keys=True)].append(case)
    together = TOGETHER if size == CaptureSize.TEST else 1
    for members in zones.values():
        yield from (members[start : start + together] for start in range(0, len(members), together))


@contextmanager
def _folder(keep: str | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="leadsman-production-") as folder:
            yield Path(folder)
    else:
        shutil.rmtree(keep, ignore_errors=True)
        Path(keep).mkdir(parents=True)
        yield Path(keep)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.production", description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=[each.name.lower() for each in CaptureSize], default="test")
    parser.add_argument("--only", action="append", metavar="NAME", help="cases whose names begin so; may be repeated")
    parser.add_argument("--keep", metavar="FOLDER", help="keep captures and findings here; the folder is emptied first")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
