"""Statements that wait for the embedded engine are made at once, and their results are those of one after the other."""

from __future__ import annotations

from functools import partial
from threading import Barrier
from typing import TYPE_CHECKING

import pytest

from leadsman.pipeline.spark import embedded
from leadsman.pipeline.spark.embedded import MAX_BYTES_AT_ONCE, SharedTables, in_threads

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SharedTables]:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    shared = SharedTables(tmp_path, 0)
    token = embedded.TABLES.set(shared)
    yield shared
    embedded.TABLES.reset(token)


def test_two_calls_run_at_once_and_know_the_tables(tables: SharedTables) -> None:
    both = Barrier(2, timeout=30)

    def call(number: int) -> tuple[int, SharedTables]:
        both.wait()
        return number, embedded.TABLES.get()

    assert in_threads([partial(call, number) for number in range(4)]) == [(number, tables) for number in range(4)]


def test_calls_over_very_many_events_take_turns(tables: SharedTables) -> None:
    tables.bytes = MAX_BYTES_AT_ONCE + 1
    running: list[int] = []

    def call(number: int) -> int:
        running.append(number)
        assert running == [number]
        running.remove(number)
        return number

    assert in_threads([partial(call, number) for number in range(20)]) == list(range(20))


def test_an_error_of_a_call_is_raised(tables: SharedTables) -> None:
    def fail() -> None:
        raise ValueError(tables.folder)

    with pytest.raises(ValueError, match=tables.folder.name):
        in_threads([fail, lambda: None])
