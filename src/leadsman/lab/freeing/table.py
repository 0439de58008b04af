"""What was measured as a table, one column a version, and its place on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leadsman.lab.freeing.ways import every_way

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BEGIN = "<!-- written by python -m leadsman.lab.freeing; do not edit -->"
END = "<!-- until here -->"
"""Where the table stands on a page."""


def text(measured: Mapping[str, Any]) -> str:
    """Return the table. What frees is in bold: fewer than a tenth are left."""
    return "\n".join(_rows(measured))


def _rows(measured: Mapping[str, Any]) -> Iterator[str]:
    yield f"| what is done | {' | '.join(measured)} |"
    yield "|---" * (len(measured) + 1) + "|"
    for way in every_way():
        cells = [_cell(of_version["ways"].get(way.name)) for of_version in measured.values()]
        yield f"| {way.says} | {' | '.join(cells)} |"


def _cell(tried: Mapping[str, Any] | None) -> str:
    if tried is None:
        return "not measured"
    before, after = tried["before"], tried["after"]
    said = f"{before:,} to {after:,}"
    by = f" ({tried['by']})" if tried["by"] else ""
    return f"**{said}**{by}" if after < before / 10 else f"{said}{by}"
