"""`leadsman new-mode NAME`: a folder with everything that a failure mode is made of, ready to be filled in."""

from __future__ import annotations

import keyword
import re
import tempfile
from importlib import resources
from pathlib import Path
from string import Template

import click

from leadsman.catalogue import MODES
from leadsman.errors import UsageError

PARTS = {
    "card.txt": "__init__.py",
    "detector.txt": "detector.py",
    "rules.txt": "rules.py",
    "broken.txt": "broken.py",
    "healthy.txt": "healthy.py",
    "scenario.txt": "scenario.py",
    "page.txt": "page.md",
}


NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")

EPILOG = """\b
Examples:
  leadsman new-mode leaderless_partition
  leadsman new-mode leaderless_partition --into /tmp/look      to see what is in it

\b
The way from here: docs/adding-a-mode.md
"""


@click.command("new-mode", epilog=EPILOG)
@click.argument("name")
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    default=MODES,
    help="The folder to put it in.  [default: the modes of this installation]",
)
def command(name: str, into: Path) -> None:
    """Write the folder of a new failure mode, named for what is wrong: leaderless_partition, not election_fix.

    It begins as a small mode that works: an example to replace piece by piece. FILL IN marks what is still the
    example's; the contract test, tests/test_every_mode.py, says what is missing.
    """
    if not NAME.fullmatch(name) or keyword.iskeyword(name):
        raise UsageError(f"{name!r} is no name for a mode. Use lower case and underscores: leaderless_partition")
    folder = into / name
    if folder.exists():
        raise UsageError(f"There is something at {folder} already. Choose another name, or edit what is there.")
    try:
        _write(folder, name)
    except OSError as error:
        raise UsageError(f"Cannot write to {into}: {error.strerror}. Choose another folder with --into.") from error
    click.echo(f"Wrote {folder}: a small mode that works. FILL IN marks what is still the example's.")
    if into == MODES:
        click.echo("Next, record broken, healthy and near miss on a real broker, quote them, and see what is missing:")
        click.echo(f"  python -m leadsman.lab.record_all {name}")
        click.echo(f"  python -m leadsman.report.excerpt {name}")
        click.echo(f"  pytest -k {name}")


def _write(folder: Path, name: str) -> None:
    """Write every part, beside its place first: a folder that is there is whole."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder.parent) as scratch:
        made = Path(scratch) / name
        made.mkdir()
        for template, target in PARTS.items():
            text = resources.files("leadsman.scaffold").joinpath(template).read_text(encoding="utf-8")
            (made / target).write_text(Template(text).substitute(name=name, title=_title(name)), encoding="utf-8")
        made.rename(folder)


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()
