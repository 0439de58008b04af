"""Errors that no signature knows are the same groups, whether they are read by runs or one by one."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leadsman.pipeline.read import log_lines
from leadsman.vocabulary import ERROR

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from leadsman.pipeline.events import EventRow

MESSAGES = (
    "ERROR com.acme.Store - entry {n} was refused",
    "ERROR com.acme.Store - request 0f3c9a51-5b1c-4e2f-9a77-{n:012x} was refused",
    "WARN com.acme.Store - java.lang.IllegalStateException: {n}",
    "ERROR com.acme.Store - password=hunter{n}hunter",
    "ERROR [$LATEST]0123456789abcdef0123456789abcdef {n}",
    "ERROR " + "long " * 80 + "{n}",
    "INFO org.apache.kafka.clients.NetworkClient - [Producer clientId=orders] Node {n} disconnected.",
    "INFO com.acme.Store - entry {n} was written",
)
BELOW = ("\tat com.acme.Store.put(Store.java:7)", "java.io.IOException: broken pipe", "")


def log(random: Random, lines: int) -> str:
    """Lines with times, most of them errors, some with a trace below them."""
    written: list[str] = []
    for number in range(lines):
        at = f"2026-11-18 09:{number // 60 % 60:02}:{number % 60:02}.{random.randrange(1000):03}"
        message = random.choice(MESSAGES).format(n=random.randrange(4))
        written.append(f"{at} [main] {message}")
        written += random.choices(BELOW, k=random.randrange(3)) if random.random() < 1 / 5 else []
    return "\n".join(written) + random.choice(("", "\n"))


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 1 << 32), st.integers(1, 120))
def test_errors_by_runs_are_the_same_groups(
    rows: Callable[[Path], list[EventRow]], tmp_path: Path, seed: int, lines: int
) -> None:
    file = tmp_path / "app.log"
    file.write_text(log(Random(seed), lines))

    by_runs = rows(file)

    with patch.object(log_lines, "_longest", lambda _signatures: 0):
        assert sorted(map(repr, by_runs)) == sorted(map(repr, rows(file)))


def test_a_storm_of_one_error_is_one_group(rows: Callable[[Path], list[EventRow]], tmp_path: Path) -> None:
    file = tmp_path / "app.log"
    file.write_text("".join(f"2026-11-18 09:00:00.{n:03} {MESSAGES[0].format(n=n)}\n" for n in range(900)))

    assert [(row.line, row.value) for row in rows(file) if row.name == ERROR] == [(1, 900.0)]


def test_lines_that_hold_secrets_one_after_the_other_are_counted_masked(
    rows: Callable[[Path], list[EventRow]], tmp_path: Path
) -> None:
    file = tmp_path / "app.log"
    secret = "ERROR com.acme.Store - password=hunter{n}hunter"
    file.write_text("".join(f"2026-11-18 09:00:00.{n:03} {secret.format(n=n)}\n" for n in range(3)))

    errors = [row for row in rows(file) if row.name == ERROR]

    assert [(row.line, row.value) for row in errors] == [(1, 3.0)]
    assert "hunter" not in repr(errors)
