"""A sweep: its grid, its journal, its estimate and its conclusion; and one run for real."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from leadsman.errors import UsageError
from leadsman.lab.sweep.estimate import remaining_seconds
from leadsman.lab.sweep.runner import SweepRunner, with_cells
from leadsman.modes.idle_disconnect import scenario as idle
from leadsman.modes.leaderless_partition import scenario as leaderless
from leadsman.report.sweep import tables
from leadsman.report.sweep.page import sweep_page
from leadsman.sweep.conclusion import conclude
from leadsman.sweep.grid import Axis, SweepCell, Trial, batches, cells, parse_axis, trials
from leadsman.sweep.journal import Journal, JournalEntry, ProgramOutcome, SweepTarget

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ABOUT = SweepTarget(mode="leaderless_partition", variant="broken", kafka="2.8.2")
COMMIT_TIMEOUT = Axis("default.api.timeout.ms", ("5000", "15000", "60000"))
RETRIES = Axis("retries", ("0", "100"))
GRID = cells(["java@2.7.2"], [COMMIT_TIMEOUT, RETRIES])


def entry(cell: SweepCell, *, repeat: int = 1, died: int = 0, recovery_seconds: float = 20.0) -> JournalEntry:
    """An entry in which so many consumers died."""
    return JournalEntry(
        client=cell.client,
        settings=dict(cell.settings),
        repeat=repeat,
        outcomes={"billing": ProgramOutcome(harm={"died": died, "stalled": 100 * died, "duplicated": 3}, waited=21.0)},
        run_seconds=60.0,
        recovery_seconds=recovery_seconds,
    )


def dies_below(milliseconds: int) -> list[JournalEntry]:
    """Entries of the whole grid: a consumer with a shorter commit timeout crashes."""
    return [entry(cell, died=int(int(dict(cell.settings)[COMMIT_TIMEOUT.name]) < milliseconds)) for cell in GRID]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("default.api.timeout.ms=60s,5s,1m", ("5000", "60000")),
        ("request.timeout.ms=500,1.5s", ("500", "1500")),
        ("acks=all,0,1", ("0", "1", "all")),
    ],
)
def test_an_axis_is_read_in_the_unit_of_its_setting_and_sorted(text: str, values: tuple[str, ...]) -> None:
    read = parse_axis(text)

    assert read.values == values


@pytest.mark.parametrize("text", ["retries", "retries=", "=5", "=,"])
def test_what_is_no_setting_with_values_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="--set default"):
        parse_axis(text)


def test_a_setting_that_is_named_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="retries is given twice"):
        cells(["java"], [RETRIES, RETRIES])


def test_every_repeat_of_every_cell_is_run_once_in_an_order_that_the_seed_decides() -> None:
    planned = trials(GRID, 3)

    order, same, other = (batches(planned, done=(), together=4, seed=seed) for seed in (1, 1, 2))

    assert sorted(map(repr, (each for batch in order for each in batch))) == sorted(map(repr, planned))
    assert order == same != other
    assert max(map(len, order)) <= 4


def test_no_run_holds_a_cell_twice_or_two_clients() -> None:
    planned = trials(cells(["java@2.7.2", "java@4.3.1"], [COMMIT_TIMEOUT]), 2)

    order = batches(planned, done=(), together=6, seed=1)

    assert [len({each.cell for each in batch}) for batch in order] == [len(batch) for batch in order]
    assert [len({each.cell.client for each in batch}) for batch in order] == [1] * len(order)


def test_a_second_start_runs_only_what_is_left(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl", ABOUT)
    journal.open()
    journal.add([entry(GRID[0]), entry(GRID[1], died=2)])

    again = Journal(tmp_path / "journal.jsonl", ABOUT)
    again.open()
    left = batches(trials(GRID, 1), done={each.trial for each in again.entries}, together=1, seed=1)

    assert again.entries == journal.entries
    assert {each.cell for batch in left for each in batch} == set(GRID[2:])


def test_a_line_that_was_cut_is_run_again(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    journal = Journal(file, ABOUT)
    journal.open()
    journal.add([entry(GRID[0]), entry(GRID[1])])
    file.write_text(file.read_text()[:-20])

    again = Journal(file, ABOUT)
    again.open()
    again.add([entry(GRID[1])])

    assert [each.trial for each in again.entries] == [Trial(GRID[0], 1), Trial(GRID[1], 1)]
    assert len(file.read_text().splitlines()) == 3


def test_a_journal_of_other_brokers_is_refused(tmp_path: Path) -> None:
    Journal(tmp_path / "journal.jsonl", ABOUT).open()

    with pytest.raises(UsageError, match=r"2\.8\.2, not of .*4\.3\.1"):
        Journal(tmp_path / "journal.jsonl", replace(ABOUT, kafka="4.3.1")).open()


def test_what_is_left_is_estimated_from_the_last_runs() -> None:
    assert remaining_seconds([], 7) is None
    assert remaining_seconds([500, 10, 20, 30, 40, 50], 10) == 300


def test_the_smallest_value_that_survives_is_named_with_what_explains_it() -> None:
    found = conclude(dies_below(20_000), [COMMIT_TIMEOUT, RETRIES], GRID)

    commit_timeout, retries = found.effects
    assert (commit_timeout.decides, commit_timeout.smallest, commit_timeout.fails_at) == (True, "60000", "15000")
    assert not retries.decides
    assert found.recovery_time is not None
    assert found.recovery_time.explains(commit_timeout)


def test_a_threshold_that_recovery_seconds_does_not_explain_is_not_explained_by_it() -> None:
    entries = [replace(each, recovery_seconds=200.0) for each in dies_below(20_000)]

    found = conclude(entries, [COMMIT_TIMEOUT, RETRIES], GRID)

    assert found.recovery_time is not None
    assert not found.recovery_time.explains(found.effects[0])


def test_where_short_values_survive_the_largest_of_them_is_named() -> None:
    outcomes = [
        {"": ProgramOutcome(harm={"lost": 5 * each.outcomes["billing"].survived}, waited=1.0)}
        for each in dies_below(20_000)
    ]
    entries = [replace(each, outcomes=outcome) for each, outcome in zip(dies_below(20_000), outcomes, strict=True)]

    found = conclude(entries, [COMMIT_TIMEOUT, RETRIES], GRID)

    assert (found.effects[0].largest, found.effects[0].fails_at, found.effects[0].smallest) == ("15000", "60000", None)


def test_a_value_that_does_not_always_survive_is_not_called_safe() -> None:
    entries = [*dies_below(20_000), *(replace(each, repeat=2) for each in dies_below(70_000))]

    found = conclude(entries, [COMMIT_TIMEOUT, RETRIES], GRID)

    assert not any(each.safe for each in found.results)
    assert sum(each.unsteady for each in found.results) == 2


def test_cells_that_are_not_requested_now_do_not_count() -> None:
    axes = [COMMIT_TIMEOUT, Axis("retries", ("0",))]

    found = conclude(dies_below(20_000), axes, cells(["java@2.7.2"], axes))

    assert len(found.results) == 3


def test_programs_of_one_client_are_judged_each_for_itself() -> None:
    lives = ProgramOutcome(harm={"died": 0}, waited=20.0)
    entries = [replace(each, outcomes={**each.outcomes, "stream": lives}) for each in dies_below(20_000)]

    found = conclude(entries, [COMMIT_TIMEOUT], GRID)

    assert found.always == ("java@2.7.2 stream",)
    assert {each.who: each.decides for each in found.effects} == {
        "java@2.7.2 stream": False,
        "java@2.7.2 billing": True,
    }


def test_each_cell_has_services_of_its_own_whose_settings_come_last() -> None:
    variant = with_cells(leaderless.EXPERIMENT, "broken", GRID)

    given = [service.settings[COMMIT_TIMEOUT.name] for service in variant.services.members]
    services = leaderless.EXPERIMENT.swept_services
    assert given == [dict(cell.settings)[COMMIT_TIMEOUT.name] for cell in GRID for _ in services]
    assert len({service.name for service in variant.services.members}) == len(variant.services.members)
    assert variant.services.shares_process


def test_without_services_the_settings_are_those_of_the_workers() -> None:
    variant = with_cells(idle.EXPERIMENT, "broken", [SweepCell("java", (("retries", "7"),))])

    assert variant.workload.settings == {**idle.EXPERIMENT.variant("broken").workload.settings, "retries": "7"}


def test_table_json_and_page_hold_every_cell() -> None:
    axes = [COMMIT_TIMEOUT, RETRIES]
    found = conclude(dies_below(20_000), axes, GRID)

    written = sweep_page(found, axes, target=ABOUT, total=len(GRID))

    assert tables.as_csv(found, axes).splitlines()[-1] == "java@2.7.2,billing,60000,100,1,1,21.0,0,3,0"
    assert len(json.loads(json.dumps(tables.as_json(found, ABOUT)))["results"]) == len(GRID)
    assert written.count("<tr>") == 1 + len(GRID)
    assert len(tables.heat_map(found, axes).columns) == len(COMMIT_TIMEOUT.values)


def short() -> Mapping[str, object]:
    """The variants of a mode's experiment with one long gap each."""
    gaps = {"worker-1": (0.5, 5.5)}
    broken = idle.EXPERIMENT.variant("broken")
    return {
        "broken": replace(
            broken,
            workload=replace(broken.workload, workers=("worker-1", idle.BUSY)),
            run=partial(idle.run_idle_workers, idle_gaps=gaps),
        )
    }


@pytest.mark.lab
def test_a_real_sweep_finds_the_idle_limit_that_saves_a_record(tmp_path: Path) -> None:
    axes = [parse_axis("connections.max.idle.ms=1350,60000")]
    experiment = replace(idle.EXPERIMENT, variants=short())  # type: ignore[arg-type]  # variants by name
    planned = cells(["confluent-kafka"], axes)
    journal = Journal(tmp_path / "journal.jsonl", SweepTarget(mode="idle_disconnect", variant="broken", kafka="4.3.1"))
    journal.open()

    runner = SweepRunner(experiment=experiment, variant="broken", kafka="4.3.1", progress=lambda _: None)
    runner.run_batches(batches(trials(planned, 1), done=(), together=1, seed=1), journal)

    found = conclude(journal.entries, axes, planned)
    assert (found.effects[0].largest, found.effects[0].fails_at) == ("1350", "60000")
