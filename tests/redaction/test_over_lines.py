"""Secrets of several lines are masked behind whatever a log puts before each line, as they are without it."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leadsman.pipeline.read.hidden_lines import HiddenLines
from leadsman.redaction import MASK, mask

if TYPE_CHECKING:
    from collections.abc import Callable

CORPUS = Path(__file__).parent / "secrets.toml"
GROUPS = tomllib.loads(CORPUS.read_text(encoding="utf-8"))["group"]
KEY = [f"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBA{number:02}" for number in range(12)]
PEM = ["-----BEGIN PRIVATE KEY-----", *KEY, "-----END PRIVATE KEY-----"]
OTHER = "2026-11-21 09:49:00,123 INFO [kafka-coordinator-heartbeat] org.apache.kafka.ConsumerCoordinator - alive {}"


def plain(before: str, after: str = "") -> Callable[[int, str], str]:
    return lambda number, line: f"{before.format(n=number, n9=number * 7919)}{line}{after}"


def in_json(before: str = "") -> Callable[[int, str], str]:
    return lambda number, line: json.dumps({"log": f"{before}{line}\n", "time": f"2026-11-21T09:49:00.{number}Z"})


HEADS = {
    "a Java log": plain("2026-11-21 09:49:{n:02},00{n} ERROR [main] com.example.K - "),
    "Spring": plain("2026-11-21 09:49:{n:02}.001 ERROR 1 --- [           main] c.e.K    : "),
    "a broker's log": plain("[2026-11-21 09:49:{n:02},000] ERROR ", " (kafka.server.KafkaServer)"),
    "Python": plain("2026-11-21 09:49:{n:02},000 - kafka.conn - ERROR - "),
    "librdkafka": plain("%3|1613433{n}.123|FAIL|rdkafka#producer-1| "),
    "CRI": plain("2026-11-21T09:49:00.{n9}Z stderr F "),
    "syslog": plain("Nov 27 09:49:{n:02} host app[123]: "),
    "Docker compose": plain("kafka-1  | "),
    "kubectl": plain("[pod/kafka-0/kafka] "),
    "Lambda": plain("2026/11/21/[$LATEST]0a1b2c3d4e5f60718293a4b5c6d7e8f9 2026-11-21T09:49:00.{n:03}Z "),
    "Docker's JSON": in_json(),
    "a Java log in Docker's JSON": in_json("2026-11-21 09:49:00,000 ERROR [main] com.example.K - "),
    "Docker compose around JSON": lambda number, line: f"kafka-1  | {in_json()(number, line)}",
}


def shapes() -> list[tuple[str, list[str], tuple[str, ...]]]:
    """Return the shapes of several lines: their group, their lines, the parts of their secret."""
    found = []
    for group in GROUPS:
        secret = "".join(group["secret"])
        for template in group["texts"]:
            if "\n" in template and "}\n" not in template:
                parts = tuple(
                    part for part in re.split(r"[^A-Za-z0-9]+", secret) if len(part) > 3 and part not in template
                )
                found.append((group["name"], template.replace("{s}", secret).split("\n"), parts))
    return [*found, ("a whole key", PEM, tuple(KEY))]


def hidden(text: str) -> str:
    return HiddenLines().mask(text.encode()).decode()


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(("group", "lines", "parts"), shapes())
def test_a_secret_is_masked_behind_a_head_as_without_it(
    head: str, group: str, lines: list[str], parts: tuple[str, ...]
) -> None:
    text = "\n".join(HEADS[head](number, line) for number, line in enumerate(lines))

    masked = mask(text)

    assert [part for part in parts if part in masked] == [], group
    assert masked.count("\n") == text.count("\n")
    assert mask(masked) == masked


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(("group", "lines", "parts"), shapes())
def test_no_further_line_of_a_secret_reaches_the_reader(
    head: str, group: str, lines: list[str], parts: tuple[str, ...]
) -> None:
    text = "\n".join(HEADS[head](number, line) for number, line in enumerate(lines))
    further = mask(text) if len(parts) == 1 and parts[0] in lines[0] else mask(hidden(text))

    assert [part for part in parts if part in further] == [], group
    assert hidden(text).count("\n") == text.count("\n")


@pytest.mark.parametrize("head", HEADS)
def test_a_secret_that_goes_on_in_the_next_block_is_masked_there(head: str) -> None:
    lines = [HEADS[head](number, line) + "\n" for number, line in enumerate(PEM)]
    hidden_lines = HiddenLines()

    masked = b"".join(hidden_lines.mask(line.encode()) for line in lines).decode()

    assert [part for part in KEY if part in masked] == []
    assert masked.count("\n") == len(PEM)


@pytest.mark.parametrize("head", HEADS)
def test_lines_of_other_writers_within_a_secret_stay_to_the_letter(head: str) -> None:
    others = [OTHER.format(f"{number:02}abcdefghijklmnopqrstuvwxyz") for number in range(len(PEM))]
    lines = [line for number, own in enumerate(PEM) for line in (HEADS[head](number, own), others[number])]

    masked = mask("\n".join(lines)).split("\n")

    assert masked[1::2] == others
    assert [part for part in KEY if part in "\n".join(masked)] == []


def test_a_secret_without_an_end_hides_no_more_than_looks_like_it() -> None:
    head = HEADS["a Java log"]
    after = [head(number, f"Connection to node {number} could not be established") for number in range(1000)]
    text = "\n".join([head(0, line) for line in PEM[:-1]] + after)

    masked = mask(text).split("\n")

    assert masked[len(PEM) - 1 :] == after
    assert masked[1].endswith(MASK)


def test_a_log_without_secrets_stays_to_the_letter() -> None:
    lines = [
        "2026-11-21 09:49:00,000 INFO [main] K - ProducerConfig values:",
        "2026-11-21 09:49:00,000 INFO [main] K -   acks = all",
        "2026-11-21 09:49:00,000 INFO [main] K - Loading the secret:",
        "2026-11-21 09:49:00,000 INFO [main] K - done",
        "2026-11-21 09:49:00,000 INFO [main] K - kind: ConfigMap",
        "2026-11-21 09:49:00,000 INFO [main] K - data:",
        "2026-11-21 09:49:00,000 INFO [main] K -   retries: many",
    ]

    assert mask("\n".join(lines)) == "\n".join(lines)
    assert hidden("\n".join(lines)) == "\n".join(lines)
