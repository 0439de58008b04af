"""The campaign that damages files finds what it looks for, and makes the same inputs from the same seed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from leadsman.catalogue import every_mode
from leadsman.lab.fuzzing import campaign
from leadsman.lab.fuzzing.__main__ import corpus
from leadsman.lab.fuzzing.campaign import FuzzCounts, read_one, run
from leadsman.lab.fuzzing.mutations import MUTATIONS, mutate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LOG = b"".join(b"2026-02-16 12:00:%02d,123 INFO orders: message %d\n" % (each, each) for each in range(60))


def read_file(folder: Path, data: bytes = LOG) -> FuzzCounts:
    path = folder / "server.log"
    path.write_bytes(data)
    counts = FuzzCounts()
    read_one(path, len(data), counts, example="one")
    return counts


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_every_kind_of_damage_is_read(mutation: Callable[[bytes, Random], bytes], tmp_path: Path) -> None:
    for seed in range(20):
        counts = read_file(tmp_path, mutation(LOG, Random(seed)))

        assert (counts.inputs, counts.escaped, counts.over_budget, counts.isolated) == (1, {}, {}, {})


def test_a_seed_makes_its_input_again() -> None:
    assert mutate(LOG, Random("7/3")) == mutate(LOG, Random("7/3")) != mutate(LOG, Random("7/4"))


def test_some_seconds_of_the_campaign_find_nothing(tmp_path: Path) -> None:
    files = corpus(tmp_path)

    counts = run(files, tmp_path, seed=1, seconds=5)

    assert len(files) > len(every_mode())
    assert counts.inputs > 0
    assert (counts.escaped, counts.over_budget) == ({}, {})


def test_an_error_that_leaves_the_reader_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Iterator[object]:
        raise RuntimeError("a parser's fault")
        yield

    monkeypatch.setattr(campaign, "read", fail)

    (kind,) = read_file(tmp_path).escaped
    assert kind.startswith("RuntimeError in test_fuzzing.py:")


def test_a_reader_that_never_ends_is_over_its_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*_: object) -> Iterator[object]:
        while True:
            pass
        yield

    monkeypatch.setattr(campaign, "read", hang)
    monkeypatch.setattr(campaign, "BUDGET_SECONDS", 0.2)

    assert read_file(tmp_path).over_budget == {"time": 1}


def test_an_error_of_a_parser_that_the_reader_isolates_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leadsman.pipeline.read.stream.recognise", lambda *_, **__: 1 / 0)

    (kind,) = read_file(tmp_path).isolated
    assert "ZeroDivisionError" in kind


def test_more_events_than_a_file_can_hold_are_over_its_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "FREE_EVENTS", -1)
    monkeypatch.setattr(campaign, "MAX_EVENTS_PER_BYTE", 0.0)

    assert read_file(tmp_path).over_budget == {"events": 1}
