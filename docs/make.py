"""Makes what the documents draw from the code: `python docs/make.py [configuration] [picture]`.

configuration.md  every setting, from the commands' options and the detectors' docstrings; a test holds it up to date
finding.svg       the finding on a console, from a real diagnosis of a recorded capture (starts Spark)
"""  # noqa: INP001 - a script, no package

from __future__ import annotations

import inspect
import io
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.catalogue import MODES, Mode, every_mode
from leadsman.cli.config import CONFIGURED, variable
from leadsman.cli.group import group
from leadsman.cli.settings import settable

if TYPE_CHECKING:
    from collections.abc import Iterator

    import click

DOCS = Path(__file__).parent
HEAD = DOCS / "configuration.head.md"
RECORDED = MODES / "idle_disconnect" / "recorded"
PICTURED = "broken-java-2.7.2"
COLUMNS = 112


def configuration() -> str:
    """Return configuration.md: its head, which is written by hand, and the tables."""
    parts = [HEAD.read_text(encoding="utf-8").rstrip()]
    parts += ["\n".join(_settings(name)) for name in CONFIGURED]
    parts += ["\n".join(_thresholds(mode)) for mode in every_mode()]
    return "\n\n".join(parts) + "\n"


def _settings(name: str) -> Iterator[str]:
    context = group.make_context("leadsman", [], resilient_parsing=True)
    command = group.get_command(context, name)
    assert command is not None
    yield f"## `leadsman {name}`\n"
    yield "| in the file | flag | environment | default | what it does |"
    yield "|---|---|---|---|---|"
    for setting, option in settable(command).items():
        flags = " / ".join(f"`{flag}`" for flag in (*option.opts, *option.secondary_opts))
        default = "" if option.multiple else _default(option)
        yield f"| `{setting}` | {flags} | `{variable(name, setting)}` | {default} | {_cell(option.help or '')} |"


def _default(option: click.Option) -> str:
    value = option.default
    if value is None or "UNSET" in repr(value).upper():
        return ""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else f"`{value}`"


def _thresholds(mode: Mode) -> Iterator[str]:
    yield f"## Thresholds of `{mode.name}`\n"
    yield "| `--set` | default | why |"
    yield "|---|---|---|"
    reasons = _reasons(inspect.getdoc(mode.detect) or "")
    for name, value in mode.parameters.items():
        yield f"| `{mode.name}.{name}` | {value:g} | {_cell(reasons.get(name, ''))} |"


def _reasons(docstring: str) -> dict[str, str]:
    """Return what a detector's docstring says of each parameter: `name: reason`, over one or more lines."""
    found = re.findall(r"^(\w+): (.*(?:\n(?!\w+: |\n).*)*)", docstring, flags=re.MULTILINE)
    return {name: " ".join(reason.split()) for name, reason in found}


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def picture() -> str:
    """Diagnose the recorded capture and return the console's answer as SVG that needs no network."""
    from rich._export_format import CONSOLE_SVG_FORMAT  # noqa: PLC0415 - the template has no public name
    from rich.console import Console  # noqa: PLC0415 - only the picture needs what follows

    from leadsman.cli.reproduce import diagnosis_of  # noqa: PLC0415
    from leadsman.pipeline.session import session  # noqa: PLC0415
    from leadsman.report.console import show  # noqa: PLC0415

    os.chdir(RECORDED)  # so that the picture names the capture as its reader would
    with session() as spark:
        diagnosis = diagnosis_of(spark, Path(PICTURED))
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, highlight=False)
    show([diagnosis], console)
    bare = re.sub(r"@font-face \{\{.*?\}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return console.export_svg(title=f"leadsman diagnose {PICTURED}", code_format=bare, unique_id="finding")


MADE = {"configuration": ("configuration.md", configuration), "picture": ("finding.svg", picture)}


def main(names: list[str]) -> None:
    """Make what is named; everything where nothing is."""
    for name in names or MADE:
        file, make = MADE[name]
        (DOCS / file).write_text(make(), encoding="utf-8")
        sys.stdout.write(f"docs/{file}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
