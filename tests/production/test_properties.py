"""What is true of telemetry stays true however it is handed over: captures of the proving ground, and recordings."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leadsman.catalogue import every_mode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from leadsman.model import Diagnosis

    Diagnose = Callable[..., list[Diagnosis]]

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # the proving ground is no part of the installed package

from bench.production.case import PRESENT, Size  # noqa: E402 - on the path only now
from bench.production.catalogue import cases  # noqa: E402
from bench.production.changes import CHANGES, Change  # noqa: E402
from bench.production.score import worst  # noqa: E402

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(7200)]

CASES = {case.name: case for case in cases() if not case.options}
RECORDED = {f"{mode.name}/{folder.name}": folder for mode in every_mode() for folder in mode.recordings()}
WITH_A_CAUSE = sorted(
    [
        *(name for name, case in CASES.items() if PRESENT in case.expected.values()),
        *(name for name, folder in RECORDED.items() if folder.name.startswith("broken")),
    ]
)
QUICK = settings(
    max_examples=4, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
LONG = settings(QUICK, max_examples=60)


def verdicts(diagnoses: list[Diagnosis], folder: Path) -> Mapping[str, str]:
    """The worst verdict on each mode over all that lies below a folder."""
    own = [each for each in diagnoses if Path(each.path).is_relative_to(folder)]
    modes = {mode for each in own for mode in each.verdicts}
    return {mode: worst(str(each.verdicts[mode]) for each in own) for mode in modes}


@pytest.fixture
def ground(diagnosed: Diagnose) -> Iterator[tuple[Diagnose, Path]]:
    """What diagnoses captures, and a folder to write them into."""
    with tempfile.TemporaryDirectory() as place:
        yield diagnosed, Path(place)


def written(name: str, place: Path) -> Path:
    shutil.rmtree(place, ignore_errors=True)
    if name in RECORDED:
        return Path(shutil.copytree(RECORDED[name], place))
    place.mkdir(parents=True)
    CASES[name].write(place, Random(name), Size.TEST // 2)
    return place


def check_change(name: str, change: Change, seed: int, ground: tuple[Diagnose, Path]) -> None:
    diagnosed, folder = ground
    before = written(name, folder / "before")
    after = folder / "after"
    shutil.rmtree(after, ignore_errors=True)
    shutil.copytree(before, after)
    change.make(after, Random(seed))

    diagnoses = diagnosed([before, after])

    was, now = verdicts(diagnoses, before), verdicts(diagnoses, after)
    if change.keeps:
        assert now == was
    else:
        assert {mode for mode, verdict in now.items() if verdict == PRESENT} <= {
            mode for mode, verdict in was.items() if verdict == PRESENT
        }


def check_two_together(first: str, second: str, ground: tuple[Diagnose, Path]) -> None:
    diagnosed, folder = ground
    both = folder / "both"
    shutil.rmtree(both, ignore_errors=True)
    alone = [written(first, folder / "first"), written(second, folder / "second")]
    for place in alone:
        shutil.copytree(place, both / place.name)

    diagnoses = diagnosed([*alone, both])

    of_both = verdicts(diagnoses, both)
    of_each = [verdicts(diagnoses, place) for place in alone]
    assert of_both == {mode: worst(each[mode] for each in of_each) for mode in of_both} or all(
        of_both[mode] == PRESENT for each in of_each for mode, verdict in each.items() if verdict == PRESENT
    )


WAYS = st.sampled_from(CHANGES)
ANY_CASE = st.sampled_from(sorted([*CASES, *RECORDED]))
A_CAUSE = st.sampled_from(WITH_A_CAUSE)


@QUICK
@given(name=A_CAUSE, change=WAYS, seed=st.integers(0, 99))
def test_the_way_in_which_telemetry_is_handed_over_changes_no_verdict(name, change, seed, ground):
    check_change(name, change, seed, ground)


@QUICK
@given(first=A_CAUSE, second=A_CAUSE)
def test_two_captures_in_one_folder_give_both_verdicts(first, second, ground):
    check_two_together(first, second, ground)


@LONG
@given(name=ANY_CASE, change=WAYS, seed=st.integers(0, 99))
def test_no_way_of_handing_over_any_capture_changes_a_verdict(name, change, seed, ground):
    check_change(name, change, seed, ground)


@LONG
@given(first=ANY_CASE, second=ANY_CASE)
def test_any_two_captures_in_one_folder_give_both_verdicts(first, second, ground):
    check_two_together(first, second, ground)
