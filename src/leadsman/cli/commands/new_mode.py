"""`leadsman new-mode NAME`: writes the folder of a new failure mode from templates."""

from __future__ import annotations

import keyword
import re
import tempfile
from importlib import resources
from pathlib import Path
from string import Template

import click

from leadsman.catalogue import MODES
from leadsman.cli.terminal import echo
from leadsman.errors import UsageError

TEMPLATES = {
    "card.txt": "__init__.py",
    "detector.txt": "detector.py",
    "rules.txt": "rules/__init__.py",
    "rule.txt": "rules/delivery_timeout_below_restart.py",
    "broken.txt": "broken.py",
    "healthy.txt": "healthy.py",
    "scenario.txt": "scenario.py",
    "page.txt": "page.md",
}


NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")

EPILOG = """\b
Examples:
  leadsman new-mode leaderless_partition
  leadsman new-mode leaderless_partition --into /tmp/look      only to look at the files

\b
All steps: docs/adding-a-mode.md
"""


@click.command("new-mode", epilog=EPILOG)
@click.argument("name")
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    default=MODES,
    help="The parent folder.  [default: the modes of this installation]",
)
def command(name: str, into: Path) -> None:
    """Write the folder of a new failure mode, named for what is wrong: leaderless_partition, not election_fix.

    The folder holds a small mode that works: an example to replace piece by piece. FILL IN marks the parts that are
    still the example's; the contract test, tests/test_every_mode.py, names what is missing.
    """
    if not NAME.fullmatch(name) or keyword.iskeyword(name):
        raise UsageError(f"{name!r} cannot be the name of a mode. Use lower case and underscores: leaderless_partition")
    folder = into / name
    if folder.exists():
        raise UsageError(f"{folder} exists already. Choose another name, or edit the files there.")
    try:
        _write(folder, name)
    except OSError as error:
        raise UsageError(f"Cannot write to {into}: {error.strerror}. Choose another folder with --into.") from error
    echo(f"Wrote {folder}: a small mode that works. FILL IN marks the parts that are still the example's.")
    if into == MODES:
        echo(
            "Next: record broken, healthy and near miss on a real broker, write the excerpt, and run the contract test:"
        )
        echo(f"  python -m leadsman.lab.record_all {name}")
        echo(f"  python -m leadsman.report.mode_page.excerpt {name}")
        echo(f"  pytest -k {name}")


def _write(folder: Path, name: str) -> None:
    """Write every file into a temporary folder first, so that an existing mode folder is always complete."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder.parent) as scratch:
        fresh = Path(scratch) / name
        fresh.mkdir()
        for template, target in TEMPLATES.items():
            text = resources.files("leadsman.scaffold").joinpath(template).read_text(encoding="utf-8")
            (fresh / target).parent.mkdir(exist_ok=True)
            (fresh / target).write_text(Template(text).substitute(name=name, title=_title(name)), encoding="utf-8")
        fresh.rename(folder)


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()
