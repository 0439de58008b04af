"""The measured figures as a table, one column a version, and its place on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leadsman.lab.freeing.methods import every_method

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BEGIN = "<!-- written by python -m leadsman.lab.freeing; do not edit -->"
END = "<!-- until here -->"
"""The marks around the table on the page."""


def render(measured: Mapping[str, Any]) -> str:
    """Return the table. Methods that free ids are in bold: fewer than a tenth are left."""
    return "\n".join(_rows(measured))


def _rows(measured: Mapping[str, Any]) -> Iterator[str]:
    yield f"| what is done | {' | '.join(measured)} |"
    yield "|---" * (len(measured) + 1) + "|"
    for method in every_method():
        cells = [_cell(measured_version["ways"].get(method.name)) for measured_version in measured.values()]
        yield f"| {method.description} | {' | '.join(cells)} |"


def _cell(figures: Mapping[str, Any] | None) -> str:
    if figures is None:
        return "not measured"
    before, after = figures["before"], figures["after"]
    cell = f"{before:,} to {after:,}"
    by = f" ({figures['by']})" if figures["by"] else ""
    return f"**{cell}**{by}" if after < before / 10 else f"{cell}{by}"
