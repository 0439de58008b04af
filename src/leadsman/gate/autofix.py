"""Writes the replacements that are safe: another value at the place of a literal value, nothing else."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.gate.rule import Violation

QUOTES = ('"""', "'''", '"', "'", "`")


def apply_fixes(violations: Sequence[Violation]) -> list[Violation]:
    """Replace the values in the files; return the findings that were fixed."""
    fixed: list[Violation] = []
    for path in dict.fromkeys(each.path for each in violations):
        fixed += _fix_file(path, [each for each in violations if each.path == path])
    return fixed


def _fix_file(path: str, violations: list[Violation]) -> list[Violation]:
    """Fix one file from its end to its beginning, so that earlier places stay where they are."""
    content = Path(path).read_bytes().decode("utf-8", errors="surrogateescape")
    lines = content.split("\n")
    backwards = sorted(violations, key=lambda each: each.replacement_span or each.span, reverse=True)
    fixed = [each for each in backwards if _replace(lines, each)]
    if fixed:
        _write(path, "\n".join(lines))
    return fixed


def _replace(lines: list[str], violation: Violation) -> bool:
    span, value = violation.replacement_span, violation.replacement
    if span is None or value is None or span.line != span.end_line:
        return False
    line = lines[span.line - 1]
    old = line[span.column - 1 : span.end_column - 1]
    quote = next((each for each in QUOTES if old.startswith(each) and old.endswith(each) and len(old) > len(each)), "")
    inner = old.removeprefix(quote).removesuffix(quote) if quote else old
    if not _is_plain(inner):
        return False
    lines[span.line - 1] = f"{line[: span.column - 1]}{quote}{value}{quote}{line[span.end_column - 1 :]}"
    return True


def _is_plain(text: str) -> bool:
    """Whether a value stands there itself: a number, true or false. Names and expressions are left to people."""
    return text.removeprefix("-").replace("_", "").isdecimal() or text.lower() in {"true", "false"}


def _write(path: str, text: str) -> None:
    """Replace the file at once, with its permissions; a file is never half written."""
    target = Path(path).resolve()
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as stream:
            stream.write(text.encode("utf-8", errors="surrogateescape"))
        Path(stream.name).chmod(target.stat().st_mode)
        os.replace(stream.name, target)  # noqa: PTH105 - the target is a path already
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}. Without --fix nothing is written.") from error
