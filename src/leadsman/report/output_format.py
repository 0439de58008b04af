"""What an output format of `leadsman diagnose --format` is, and which formats there are. Nothing registers itself."""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, TextIO

from leadsman.report import formats

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leadsman.model import Diagnosis


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFormat:
    """One output format. `write` writes all diagnoses to a stream.

    `file` is the name of the file in the folder of `--out`; empty where `--out` writes no file of this format.
    `has_charts`: the format draws the detectors' points, which are computed only where a format needs them.
    `reads_programs`: `write` also takes `program_paths`, the paths of programs and settings that may be at fault.
    """

    write: Callable[..., None]
    file: str = ""
    has_charts: bool = False
    reads_programs: bool = False

    def with_programs(self, program_paths: Sequence[str]) -> Callable[[Sequence[Diagnosis], TextIO], None]:
        """Return what writes diagnoses, with the paths of programs where the format reads them."""
        return partial(self.write, program_paths=program_paths) if self.reads_programs else self.write


@cache
def format_names() -> tuple[str, ...]:
    """Return the names of all formats, in alphabetical order: a format is called as its module."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(formats.__path__)))


def find_format(name: str) -> OutputFormat:
    """Return the format of this name."""
    output_format: OutputFormat = import_module(f"{formats.__name__}.{name}").FORMAT
    return output_format


def file_formats() -> list[OutputFormat]:
    """Return the formats of which `--out` writes a file."""
    return [each for each in map(find_format, format_names()) if each.file]
