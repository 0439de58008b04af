"""Facts become the same rows, however they are gathered: as columns of many outputs, or one by one."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leadsman.pipeline.events import ColumnarEvents, from_columns, to_batch
from leadsman.pipeline.read.program_outputs import as_rows

if TYPE_CHECKING:
    import pyarrow as pa

TEXTS = st.text(alphabet="ab1:.ä€😀 ", max_size=6)
TIMES = st.one_of(st.none(), st.sampled_from([0, 1_763_726_601_000, -1, 253_402_300_799_000, 10**19]))
NUMBERS = st.one_of(st.none(), st.floats(allow_nan=False))


@st.composite
def parts(draw: st.DrawFn) -> ColumnarEvents:
    """Events of one output; some of what they have in common is a single value."""
    count = draw(st.integers(1, 4))

    def column(values: st.SearchStrategy[Any], *, single: bool = True) -> Any:
        if single and draw(st.booleans()):
            return draw(values)
        return draw(st.lists(values, min_size=count, max_size=count))

    labels = {name: column(st.one_of(st.none(), TEXTS), single=False) for name in draw(st.sets(TEXTS, max_size=3))}
    return ColumnarEvents(
        capture=draw(TEXTS),
        source=draw(st.one_of(st.none(), TEXTS)),
        name=draw(TEXTS),
        file=draw(TEXTS),
        at=column(TIMES),
        subjects=column(st.one_of(st.none(), TEXTS)),
        lines=np.array(column(st.integers(0, 9), single=False), np.int64),
        texts=column(TEXTS, single=False),
        values=draw(st.sampled_from([(), column(NUMBERS, single=False)])),
        labels=labels | ({"host": draw(TEXTS)} if draw(st.booleans()) else {}),
    )


def listed(batch: pa.RecordBatch) -> list[str]:
    return [repr(row) for row in batch.to_pylist()]


def output(*values: float | None) -> ColumnarEvents:
    """An output with an event for each of the values."""
    return ColumnarEvents(
        capture="",
        source=None,
        name="",
        file="",
        at=None,
        subjects=None,
        lines=np.arange(len(values), dtype=np.int64),
        texts=[""] * len(values),
        values=values,
        labels={},
    )


@settings(deadline=None, max_examples=400)
@given(st.lists(parts(), min_size=1, max_size=4))
@example([output(None), output(-0.0)])
@example([output(None, -0.0)])
def test_columns_of_several_outputs_are_the_rows_of_each(gathered: list[ColumnarEvents]) -> None:
    one_by_one = list(chain.from_iterable(map(as_rows, gathered)))

    assert listed(from_columns(*gathered)) == listed(to_batch(one_by_one))
