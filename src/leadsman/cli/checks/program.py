"""`leadsman check program`: finds settings and code that would cause a failure."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leadsman.cli.input_file import InputFile
from leadsman.cli.terminal import echo
from leadsman.gate.output import find_format, format_names

if TYPE_CHECKING:
    from leadsman.gate.check import Report

EPILOG = """\b
Examples:
  leadsman check program src deploy
  leadsman check program --format sarif . > findings.sarif
  leadsman check program --write-baseline .leadsman-baseline.json .
  leadsman check program --baseline .leadsman-baseline.json .
  leadsman check program --fix src

\b
Accept a finding, with the reason, on its line or the line above:
  retries=0,  # leadsman: ignore[lost_without_retry] metrics may be lost

\b
Exit codes: 0 no finding; 1 findings; 2 could not run.
"""


@click.command("program", short_help="Check programs and configuration files.", epilog=EPILOG)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(format_names()),
    default="text",
    show_default=True,
    help="Output format.",
)
@click.option("--rule", "selected", multiple=True, metavar="RULE", help="Only this rule; may be repeated.")
@click.option("--baseline", type=InputFile(), help="Accept the findings of this file.")
@click.option(
    "--write-baseline",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write all findings into this file as accepted.",
)
@click.option("--tests", is_flag=True, help="Also check tests below the paths, which are left out.")
@click.option("--fix", is_flag=True, help="Replace values where that is safe.")
def command(  # noqa: PLR0917 - click passes options by name
    paths: tuple[str, ...],
    format_name: str,
    selected: tuple[str, ...],
    baseline: Path | None,
    write_baseline: Path | None,
    tests: bool,  # noqa: FBT001 - click's
    fix: bool,  # noqa: FBT001 - click's
) -> int:
    """Check programs and configuration files for what leads to a failure mode. Nothing is executed.

    Reads Python, Java, Kotlin, Go, TypeScript, JavaScript, properties, YAML, TOML, JSON and HCL. A value that a file
    does not say is no finding.
    """
    report = _check(paths, selected, with_tests=tests)
    for each in report.unreadable:
        echo(f"Not checked: {each.path}: {each.why}", err=True)
    if write_baseline is not None:
        return _write_baseline(report, write_baseline)
    if baseline is not None:
        from leadsman.gate.baseline import new_violations

        report.violations = new_violations(report.violations, baseline)
    if fix:
        _fix(report)
    find_format(format_name)(report, sys.stdout)
    return int(bool(report.violations))


def _check(paths: tuple[str, ...], selected: tuple[str, ...], *, with_tests: bool) -> Report:
    from leadsman.catalogue import every_rule
    from leadsman.errors import UsageError
    from leadsman.gate.check import check

    rules = every_rule()
    unknown = set(selected) - {each.id for each in rules}
    if unknown:
        raise UsageError(
            f"No rule is called {', '.join(sorted(unknown))}. There are: {', '.join(each.id for each in rules)}."
        )
    chosen = [each for each in rules if not selected or each.id in selected]
    return check(paths, chosen, with_tests=with_tests)


def _write_baseline(report: Report, file: Path) -> int:
    from leadsman.gate.baseline import write_baseline

    write_baseline(report.violations, file)
    echo(f"Accepted {len(report.violations)} findings in {file}.", err=True)
    return 0


def _fix(report: Report) -> None:
    from leadsman.gate.autofix import apply_fixes

    fixed = apply_fixes(report.violations)
    report.violations = [each for each in report.violations if each not in fixed]
    echo(f"Fixed {len(fixed)} findings.", err=True)
