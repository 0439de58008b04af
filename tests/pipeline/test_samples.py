"""Things that were unhealthy have the same episodes, whether all things are sampled or the unhealthy ones alone."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from leadsman import vocabulary as names
from leadsman.pipeline.conditions.episodes import Episode, find_episodes
from leadsman.pipeline.conditions.find import RULES
from leadsman.pipeline.events import ARROW_SCHEMA
from leadsman.pipeline.spark.embedded import embedded_session, frame_from_table

START = datetime(2026, 11, 21, 12, tzinfo=UTC)


def event(name: str, dice: random.Random, line: int, **labels: str) -> dict[str, Any]:
    at = None if dice.random() < 0.1 else START + timedelta(seconds=dice.randrange(30))
    file = dice.choice(("topics.txt", "broker-1.log"))
    return {
        "capture": dice.choice("ab"),
        "at": at,
        "subject": f"broker-{dice.randrange(3)}",
        "source": "broker",
        "name": name,
        "file": file,
        "line": line,
        "text": f"{name} {line}",
        "value": None,
        "labels": list(labels.items()),
    }


def state_of_partition(dice: random.Random, line: int) -> dict[str, Any]:
    replicas = dice.sample("123", 3)
    isr = [each for each in replicas if dice.random() < 0.9]
    leader = dice.choice(isr) if isr else "none"
    labels = {"topic": "orders", "partition": str(dice.randrange(4)), "leader": leader}
    described = {"replicas": ",".join(replicas), "isr": ",".join(isr)} if dice.random() < 0.8 else {}
    return event(names.PARTITION_STATE, dice, line, **labels, **described)


def made_up(seed: int) -> pa.Table:
    """Return states of partitions, ISRs that shrink and grow, and brokers that are fenced and return."""
    dice = random.Random(seed)
    events = [state_of_partition(dice, line) for line in range(dice.randrange(60))]
    for line in range(100, 110):
        partition = {"topic": "orders", "partition": str(dice.randrange(4))}
        events += [
            event(names.ISR_SHRUNK, dice, line, **partition, before="1,2,3", isr="1,2"),
            event(names.ISR_UPDATED, dice, line + 100, **partition, isr=dice.choice(("1,2", "1,2,3"))),
            event(names.BROKER_FENCED, dice, line + 200, node=dice.choice("123")),
            event(names.BROKER_UNFENCED, dice, line + 300, node=dice.choice("123")),
        ]
    return pa.Table.from_pylist(dice.sample(events, len(events)), schema=ARROW_SCHEMA)


def compared(episodes: dict[str, list[Episode]]) -> dict[str, set[str]]:
    """Return what is compared of each episode. Of brokers, which thousands of replicas show, that is when they were.

    Their fields 1 and 2, and 4 to 6, are the thing, `since`, `until`, `ended` and `first_healthy`.
    """
    return {
        capture: {
            str(
                (each.thing, each.since, each.until, each.ended, each.first_healthy) if each.kind == "in_sync" else each
            )
            for each in of_capture
        }
        for capture, of_capture in episodes.items()
    }


@pytest.mark.parametrize(("common_from", "many_bytes"), [(0, 0), (0, 1 << 30), (3, 0), (1000, 1 << 30)])
@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 8))])
def test_unhealthy_things_alone_have_the_episodes_of_all(
    seed: int, common_from: int, many_bytes: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("leadsman.pipeline.conditions.samples.SEPARATE_FRAME_EVENTS", common_from)
    monkeypatch.setattr("leadsman.pipeline.spark.embedded.MANY_BYTES", many_bytes)
    with embedded_session():
        events = frame_from_table(made_up(seed))

        few, many = (find_episodes(events, RULES, many=many) for many in (False, True))

    assert any(few.values())
    assert compared(many) == compared(few)
