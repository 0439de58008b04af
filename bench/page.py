"""docs/performance.md: a section for each benchmark, written by it between two marks. What stands outside stays."""

from __future__ import annotations

from pathlib import Path

from leadsman.lab.survival.table import replace_between

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"


def put(name: str, section: str, *, page: Path = PAGE) -> None:
    """Write what the benchmark `name` measured in the place of what it measured before."""
    marks = (f"<!-- {name}: written by its benchmark, do not edit -->", f"<!-- end of {name} -->")
    page.write_text(replace_between(page.read_text(encoding="utf-8"), marks, section), encoding="utf-8")
