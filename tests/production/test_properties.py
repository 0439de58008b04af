"""What is true of telemetry stays true however it is handed over: captures of the proving ground, and recordings."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leadsman.catalogue import every_mode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leadsman.model import Diagnosis

    Diagnose = Callable[..., list[Diagnosis]]

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # the proving ground is no part of the installed package

from bench.production.case import PRESENT, CaptureSize  # noqa: E402 - on the path only now
from bench.production.catalogue import cases  # noqa: E402 - on the path only now
from bench.production.score import worst  # noqa: E402 - on the path only now
from bench.production.transformations import TRANSFORMATIONS, Transformation  # noqa: E402 - on the path only now

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
    max_examples=1, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
LONG = settings(QUICK, max_examples=8)
TOGETHER = 8
"""Captures that are diagnosed in one Spark job: one alone takes nearly as long."""


def verdicts(diagnoses: list[Diagnosis], folder: Path) -> Mapping[str, str]:
    """The worst verdict on each mode over all that lies below a folder."""
    own = [each for each in diagnoses if Path(each.path).is_relative_to(folder)]
    modes = {mode for each in own for mode in each.verdicts}
    return {mode: worst(str(each.verdicts[mode]) for each in own) for mode in modes}


def written(name: str, place: Path) -> Path:
    if name in RECORDED:
        return Path(shutil.copytree(RECORDED[name], place))
    place.mkdir(parents=True)
    CASES[name].write(place, Random(name), CaptureSize.TEST // 2)
    return place


def check_transformations(drawn: list[tuple[str, Transformation, int]], diagnosed: Diagnose, folder: Path) -> None:
    pairs = []
    for number, (name, change, seed) in enumerate(drawn):
        before, after = (folder / f"{number}" / which for which in ("before", "after"))
        shutil.copytree(written(name, before), after)
        change.make(after, Random(seed))
        pairs.append((before, after))

    diagnoses = diagnosed([place for pair in pairs for place in pair])

    for (name, change, seed), (before, after) in zip(drawn, pairs, strict=True):
        was, now = verdicts(diagnoses, before), verdicts(diagnoses, after)
        reported = f"{name}, {change.name}, seed {seed}: {was} became {now}"
        if change.keeps:
            assert now == was, reported
        else:
            assert present(now) <= present(was), reported


def present(verdicts: Mapping[str, str]) -> set[str]:
    return {mode for mode, verdict in verdicts.items() if verdict == PRESENT}


def check_together(drawn: list[tuple[str, str]], diagnosed: Diagnose, folder: Path) -> None:
    places = []
    for number, names in enumerate(drawn):
        alone = [written(name, folder / f"{number}" / which) for name, which in zip(names, "ab", strict=True)]
        both = folder / f"{number}" / "both"
        for place in alone:
            shutil.copytree(place, both / place.name)
        places.append((*alone, both))

    diagnoses = diagnosed([place for each in places for place in each])

    for names, (*alone, both) in zip(drawn, places, strict=True):
        of_both = verdicts(diagnoses, both)
        of_each = [verdicts(diagnoses, place) for place in alone]
        worst_of_each = {mode: worst(str(each[mode]) for each in of_each) for mode in of_both}
        reported = f"{names}: {of_each} became {of_both}"
        assert of_both == worst_of_each or set().union(*map(present, of_each)) <= present(of_both), reported


def some(*drawn: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.tuples(*drawn), min_size=TOGETHER, max_size=TOGETHER)


def some_pairs(drawn: st.SearchStrategy[str]) -> st.SearchStrategy[list[tuple[str, str]]]:
    """Captures of two kinds: two of one kind name the same partitions and hosts, and nothing says they are two's."""
    pairs = st.tuples(drawn, drawn).filter(lambda pair: len({name.partition("/")[0] for name in pair}) == 2)
    return st.lists(pairs, min_size=TOGETHER, max_size=TOGETHER)


WAYS = st.sampled_from(TRANSFORMATIONS)
ANY_CASE = st.sampled_from(sorted([*CASES, *RECORDED]))
A_CAUSE = st.sampled_from(WITH_A_CAUSE)
SEED = st.integers(0, 99)


@QUICK
@given(drawn=some(A_CAUSE, WAYS, SEED))
def test_the_way_in_which_telemetry_is_handed_over_changes_no_verdict(drawn, diagnosed):
    with tempfile.TemporaryDirectory() as place:
        check_transformations(drawn, diagnosed, Path(place))


@QUICK
@given(drawn=some_pairs(A_CAUSE))
def test_two_captures_in_one_folder_give_both_verdicts(drawn, diagnosed):
    with tempfile.TemporaryDirectory() as place:
        check_together(drawn, diagnosed, Path(place))


@LONG
@given(drawn=some(ANY_CASE, WAYS, SEED))
def test_no_way_of_handing_over_any_capture_changes_a_verdict(drawn, diagnosed):
    with tempfile.TemporaryDirectory() as place:
        check_transformations(drawn, diagnosed, Path(place))


@LONG
@given(drawn=some_pairs(ANY_CASE))
def test_any_two_captures_in_one_folder_give_both_verdicts(drawn, diagnosed):
    with tempfile.TemporaryDirectory() as place:
        check_together(drawn, diagnosed, Path(place))
