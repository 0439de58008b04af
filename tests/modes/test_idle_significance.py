"""Fisher's exact test of idle_disconnect: its probability, and the reasons why a limit is not proven."""

import math
from itertools import combinations

import pytest

from leadsman.modes.idle_disconnect.significance import GapSplit, Thresholds, fisher_probability, group_row

THRESHOLDS = Thresholds(
    min_failures=3, max_p_value=0.01, min_harmed_share=0.3, min_unharmed_uses=20, shortest_hop_seconds=200.0
)


def split(**changes: float | None) -> GapSplit:
    """Twelve failures after gaps of at least 350 s, and none after 300 shorter gaps."""
    clear: dict[str, object] = {
        "capture": "c",
        "group": "g",
        "limit": 351.0,
        "failed_above": 12.0,
        "uses_above": 12.0,
        "fleet_uses_above": 12.0,
        "failed": 12.0,
        "uses": 312.0,
        "failed_after_gaps": 12.0,
        "unharmed_below": 300.0,
        "limit_low": 349.0,
        "unharmed_uses": 300.0,
        "broker_limit": None,
    }
    return GapSplit(**{**clear, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("hit", "uses_above", "failed", "uses"), [(3, 3, 3, 6), (2, 4, 3, 9), (0, 4, 3, 9), (4, 5, 6, 10)]
)
def test_the_probability_is_the_share_of_all_ways_to_draw(hit: int, uses_above: int, failed: int, uses: int) -> None:
    ways = list(combinations(range(uses), failed))
    at_least_as_many = [sample for sample in ways if sum(each < uses_above for each in sample) >= hit]

    result = fisher_probability(hit, uses_above=uses_above, failed=failed, uses=uses)

    assert result == pytest.approx(len(at_least_as_many) / len(ways))


def test_a_probability_too_small_for_a_double_is_no_error() -> None:
    clear = group_row(
        split(failed_above=4000.0, uses_above=4000.0, fleet_uses_above=4000.0, failed=4000.0, uses=90000.0), THRESHOLDS
    )

    assert clear["probability"] == 0.0
    assert clear["odds"] == 1e9
    assert clear["state"] == "observed"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"uses_above": 1900.0, "fleet_uses_above": 1900.0, "uses": 2200.0}, "unharmed_gaps"),
        ({"unharmed_uses": 0.0}, "no_unharmed_uses"),
        ({"failed_above": 2.0, "uses_above": 2.0, "fleet_uses_above": 2.0, "failed": 2.0}, "too_few"),
        ({"uses_above": 30.0, "fleet_uses_above": 30.0, "failed": 40.0, "uses": 90.0}, "coincidence"),
        ({"limit": 21.0, "broker_limit": 600.0}, "below_known_hops"),
    ],
)
def test_the_reason_why_a_limit_is_not_proven_is_named(changes: dict[str, float], why: str) -> None:
    result = group_row(split(**changes), THRESHOLDS)

    assert result["state"] != "observed"
    assert result["why"] == why


def test_a_limit_of_the_known_hops_is_observed() -> None:
    result = group_row(split(), THRESHOLDS)

    assert result["state"] == "observed"
    assert result["why"] is None
    assert math.isclose(float(result["failed_below"] or 0), 0)
