"""`leadsman new-mode NAME`: a folder with everything that a failure mode is made of, ready to be filled in."""

from __future__ import annotations

import re
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


@click.command("new-mode", short_help="Scaffold a new failure mode.")
@click.argument("name")
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    default=MODES,
    help="The folder of the modes; default: this installation's.",
)
def command(name: str, into: Path) -> None:
    """Write the folder of a new failure mode, named for what is wrong: leaderless_partition, not election_fix.

    The contract test then names, one by one, what is still to be filled in. See docs/adding-a-mode.md.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        raise UsageError(f"{name!r} is no name for a mode. Use lower case and underscores: leaderless_partition")
    folder = into / name
    if folder.exists():
        raise UsageError(f"There is a mode {name} at {folder} already. Choose another name, or edit that one.")
    (folder / "recorded").mkdir(parents=True)
    for template, target in PARTS.items():
        text = resources.files("leadsman.scaffold").joinpath(template).read_text(encoding="utf-8")
        filled = Template(text).substitute(name=name, title=name.replace("_", " ").capitalize(), upper=name.upper())
        (folder / target).write_text(filled, encoding="utf-8")
    click.echo(f"Wrote {folder}. Next: fill in __init__.py, then scenario.py, and record it:")
    click.echo(f"  python -m leadsman.lab.record_all {name}")
    click.echo("  pytest tests/test_every_mode.py")
