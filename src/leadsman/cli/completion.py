"""Shell completion of arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.catalogue import every_mode

if TYPE_CHECKING:
    import click


def mode_names(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the failure modes whose names begin with `incomplete`."""
    return [mode.name for mode in every_mode() if mode.name.startswith(incomplete)]
