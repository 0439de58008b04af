"""Options of the commands that write rules and dashboards: the folder, and the exporters that metrics come from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leadsman.prevent.alerts.exporter import CHOICES

if TYPE_CHECKING:
    from collections.abc import Callable

out_option = click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder to write: a new one, or one that this command wrote before.",
)


def exporter_option(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option for the exporters. `text` is its help."""
    return click.option(
        "--exporter",
        "exporters",
        type=click.Choice([str(each) for each in CHOICES]),
        multiple=True,
        default=("jmx",),
        show_default=True,
        help=text,
    )
