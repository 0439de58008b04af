"""The exact test of idle_disconnect: its figure, and what keeps a limit from being believed."""

import math
from itertools import combinations

import pytest

from leadsman.modes.idle_disconnect.coincidence import Demands, Part, by_chance, judged

DEMANDS = Demands(least_failures=3, most_chance=0.01, least_harmed=0.3, least_contrast=20, shortest_hop_seconds=200.0)


def part(**changes: float | None) -> Part:
    """Twelve failures after gaps of at least 350 s, none after 300 shorter ones."""
    clear: dict[str, object] = {
        "capture": "c",
        "group": "g",
        "limit": 351.0,
        "long_failed": 12.0,
        "long": 12.0,
        "long_there": 12.0,
        "failed": 12.0,
        "uses": 312.0,
        "after_any": 12.0,
        "shorter": 300.0,
        "limit_low": 349.0,
        "own_unharmed": 300.0,
        "broker_limit": None,
    }
    return Part(**{**clear, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(("hit", "long", "failed", "uses"), [(3, 3, 3, 6), (2, 4, 3, 9), (0, 4, 3, 9), (4, 5, 6, 10)])
def test_the_probability_is_the_share_of_all_ways_to_draw(hit: int, long: int, failed: int, uses: int) -> None:
    ways = list(combinations(range(uses), failed))
    as_many = [drawn for drawn in ways if sum(each < long for each in drawn) >= hit]

    told = by_chance(hit, long=long, failed=failed, uses=uses)

    assert told == pytest.approx(len(as_many) / len(ways))


def test_a_probability_too_small_for_a_double_is_no_error() -> None:
    clear = judged(part(long_failed=4000.0, long=4000.0, long_there=4000.0, failed=4000.0, uses=90000.0), DEMANDS)

    assert clear["chance"] == 0.0
    assert clear["odds"] == 1e9
    assert clear["state"] == "observed"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"long": 1900.0, "long_there": 1900.0, "uses": 2200.0}, "spared"),
        ({"own_unharmed": 0.0}, "alone"),
        ({"long_failed": 2.0, "long": 2.0, "long_there": 2.0, "failed": 2.0}, "few"),
        ({"long": 30.0, "long_there": 30.0, "failed": 40.0, "uses": 90.0}, "chance"),
        ({"limit": 21.0, "broker_limit": 600.0}, "short"),
    ],
)
def test_what_keeps_a_limit_from_being_believed_is_named(changes: dict[str, float], why: str) -> None:
    told = judged(part(**changes), DEMANDS)

    assert told["state"] != "observed"
    assert told["why"] == why


def test_a_limit_of_the_known_hops_is_observed() -> None:
    told = judged(part(), DEMANDS)

    assert told["state"] == "observed"
    assert told["why"] is None
    assert math.isclose(float(told["shorter_failed"] or 0), 0)
