"""Rows of links with and without lines of evidence: the embedded engine computes them as Spark SQL does."""

from __future__ import annotations

from itertools import permutations

import pyarrow as pa
import pytest

from leadsman.pipeline.detector_sql import NO_EVIDENCE, LinkRow, link_rows, run_steps
from leadsman.pipeline.spark.embedded import embedded_session
from leadsman.pipeline.spark.pyspark_startup import create_frame

LINE = pa.struct(
    [("file", pa.string()), ("line", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("text", pa.string())]
)
TABLE = pa.table(
    {
        "capture": ["a", "b"],
        "lines": pa.array([[{"file": "app.log", "line": 1, "at": None, "text": "x"}], None], pa.list_(LINE)),
    }
)


@pytest.mark.parametrize("lines", list(permutations(["lines", NO_EVIDENCE, f"coalesce(lines, {NO_EVIDENCE})"], 2)))
def test_links_of_which_some_have_no_lines_are_computed(lines: tuple[str, str]) -> None:
    links = [LinkRow(f"link-{number}", "'observed'", lines=each) for number, each in enumerate(lines)]
    query = link_rows("events", {"capture": "capture"}, links)

    with embedded_session() as session:
        frame = create_frame(session, TABLE)
        rows = run_steps({"events": frame}, {"rows": query}).collect()

    assert sorted((row["capture"], row["link"]) for row in rows) == [
        ("a", "link-0"),
        ("a", "link-1"),
        ("b", "link-0"),
        ("b", "link-1"),
    ]
