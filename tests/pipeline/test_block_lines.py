"""A block whose times are read all at once has the same events as one that is read from hit to hit and gap to gap."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leadsman.pipeline.idle_gaps import block_lines
from leadsman.pipeline.read import blocks, log_lines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from leadsman.pipeline.events import EventRow

TEXTS = (
    "INFO org.apache.kafka.clients.NetworkClient - [Producer clientId=orders] Node 3 disconnected.",
    "INFO [Producer clientId=orders] Cluster ID: abcdefghijklmnopqrstuv (org.apache.kafka.clients.Metadata)",
    "INFO com.acme.Store - entry was written",
    "WARN com.acme.Store - entry was refused",
    "ERROR com.acme.Store - java.lang.IllegalStateException: broken",
)
BELOW = ("\tat com.acme.Store.put(Store.java:7)", "Caused by: java.io.IOException: broken pipe", "")
START_MS = 1_771_243_200_000
DAY_MS = 86_400_000
ORDERS: dict[str, Callable[[Random], int]] = {
    "oldest first": lambda random: random.choice((0, 1, 40, 999, 1000, 1001, 5_000, 700_000)),
    "newest first": lambda random: -random.choice((0, 1, 40, 999, 1000, 1001, 5_000, 700_000)),
    "a little back and forth": lambda random: random.choice((-3, 0, 5, 1_200, 60_000)),
    "in no order": lambda random: random.randrange(-90_000, 90_000),
}


def written(random: Random, at: int, form: str = "[{date} {clock},{ms:03}] {text}") -> str:
    seconds = at % DAY_MS // 1000
    return form.format(
        date=f"2026-02-{16 + (at - START_MS) // DAY_MS % 10:02}",
        clock=f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}",
        ms=at % 1000,
        text=random.choice(TEXTS),
    )


def log(random: Random, lines: int, step: Callable[[Random], int]) -> str:
    at = START_MS + DAY_MS // 2
    result: list[str] = []
    for _ in range(lines):
        at += step(random)
        result.append(written(random, at))
        if random.random() < 1 / 8:
            result += random.choices(BELOW, k=random.randrange(4))
        if random.random() < 1 / 30:
            result.append(written(random, at, "{date}T{clock}.{ms:03}Z {text}"))
    return "\n".join(result) + random.choice(("", "\n", "\r\n"))


@pytest.mark.parametrize("order", ORDERS)
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 32), lines=st.integers(1, 250))
def test_the_events_are_the_same(
    *, rows: Callable[[Path], list[EventRow]], tmp_path: Path, order: str, seed: int, lines: int
) -> None:
    file = tmp_path / "server.log"
    file.write_text(log(Random(seed), lines, ORDERS[order]))

    with patch.object(blocks, "BLOCK_BYTES", 4096):
        with patch.multiple(log_lines, MANY_SPANS=1, MANY_MATCHES=0):
            at_once = rows(file)
        with patch.multiple(log_lines, MANY_SPANS=1 << 30, MANY_MATCHES=1 << 30):
            singly = rows(file)

    assert sorted(map(repr, at_once)) == sorted(map(repr, singly))


def test_a_log_of_many_idle_gaps_is_read_at_once(rows: Callable[[Path], list[EventRow]], tmp_path: Path) -> None:
    file = tmp_path / "server.log"
    random = Random(7)
    file.write_text("".join(written(random, START_MS + 5_000 * number) + "\n" for number in range(900)))

    with patch.object(log_lines, "spans_of_lines", wraps=block_lines.spans_of_lines) as spans_of_lines:
        rows(file)

    assert spans_of_lines.called


INVOCATION_TEXTS = (
    "START RequestId: 5b3e0c1a-0000-4000-8000-000000000017 Version: $LATEST",
    "END RequestId: 5b3e0c1a-0000-4000-8000-000000000017",
    "REPORT RequestId: 5b3e0c1a-0000-4000-8000-000000000017\tDuration: 9.94 ms\tBilled Duration: 10 ms",
    "ERROR com.acme.Store - START RequestId: 5b3e0c1a-0000-4000-8000-000000000017 Version: $LATEST",
    *TEXTS,
)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 32), lines=st.integers(1, 120))
def test_what_is_an_event_once_a_stream_is_the_same_event_in_one_block_and_in_many(
    *, rows: Callable[[Path], list[EventRow]], tmp_path: Path, seed: int, lines: int
) -> None:
    file, random = tmp_path / "[$LATEST]8f3c", Random(seed)
    step = ORDERS["oldest first"]
    with patch(f"{__name__}.TEXTS", INVOCATION_TEXTS):
        file.write_text(log(random, lines, step))

    in_one_block = rows(file)
    with patch.object(blocks, "BLOCK_BYTES", 256):
        in_many = rows(file)

    assert sorted(map(repr, in_one_block)) == sorted(map(repr, in_many))
