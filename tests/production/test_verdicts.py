"""Some captures of the proving ground, one of each kind; `python -m bench.production` tries all of them."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # the proving ground is no part of the installed package

from bench.production.case import SEED, CaptureSize  # noqa: E402 - on the path only now
from bench.production.catalogue import cases  # noqa: E402 - on the path only now
from bench.production.score import FALSE_PRESENT, RIGHT, ScoredVerdict, scored, worst  # noqa: E402 - on the path only now

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

TRIED = (
    "serverless/240s-java2-failed",
    "serverless/350s-librdkafka-failed",
    "serverless/600s-kafka-python-json",
    "serverless/two-limits",
    "serverless/shuffled",
    "serverless/zones-mixed-kafka-python",
    "serverless/half-open-kafka-python",
    "serverless/random-java",
    "serverless/restart-without-broker-log",
    "serverless/few-3-of-two-thousand",
    "serverless/warn-only-java",
    "serverless/no-times",
    "serverless/healthy-java",
    "ids/leak-office-hours",
    "ids/leak-describe-producers-alone",
    "ids/growing-fleet",
    "ids/out-of-memory-forty-percent-once",
    "clusters/migration-all-logs",
    "clusters/upgrade-own-exceptions",
    "clusters/one-client-cut-off",
    "networks/stale-inventory",
    "networks/proxy-arp",
    "networks/client-logs-only",
    "foreign/expired-certificate-java",
)
CASES = {case.name: case for case in cases()}


@pytest.fixture(scope="module")
def results(diagnosed, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[ScoredVerdict]]:
    """Every tried capture, diagnosed in one Spark job."""
    folder = tmp_path_factory.mktemp("production")
    for name in TRIED:
        (folder / name).mkdir(parents=True)
        CASES[name].write(folder / name, Random(f"{SEED} {name}"), CaptureSize.TEST)
    diagnoses = diagnosed([folder / name for name in TRIED])
    reported: dict[str, list[ScoredVerdict]] = {}
    for name in TRIED:
        own = [each for each in diagnoses if Path(each.path).is_relative_to(folder / name)]
        modes = {mode for each in own for mode in each.verdicts}
        reported[name] = list(
            scored(CASES[name], {mode: worst(str(each.verdicts[mode]) for each in own) for mode in modes})
        )
    return reported


@pytest.mark.parametrize("name", TRIED)
def test_the_verdicts_are_an_experts(name, results):
    assert [each.outcome for each in results[name]] == [RIGHT] * len(results[name])


def test_a_case_that_should_not_be_present_and_is_counts_as_the_worst_fault():
    case = CASES["serverless/random-java"]

    (outcome,) = [
        each.outcome for each in scored(case, {"idle_disconnect": "PRESENT"}) if each.mode == "idle_disconnect"
    ]

    assert outcome == FALSE_PRESENT
