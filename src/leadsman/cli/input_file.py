"""A file on the command line that is read whole: a device that never ends is no such file."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click import Context, Parameter


class InputFile(click.Path):
    """An existing file, or a pipe, as a Path."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: Parameter | None, ctx: Context | None) -> Any:  # noqa: ANN401 - click's signature
        """Return the path. Refuses devices such as /dev/zero; a terminal ends with Ctrl-D."""
        path: Path = super().convert(value, param, ctx)  # type: ignore[assignment]  # `path_type` says so
        mode = path.stat().st_mode
        if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not _is_terminal(path)):
            self.fail(f"{click.format_filename(path)} is a device, not a file. Give a file or a pipe.", param, ctx)
        return path


def _is_terminal(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return os.isatty(descriptor)
    finally:
        os.close(descriptor)
