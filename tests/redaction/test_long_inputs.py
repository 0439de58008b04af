# ruff: noqa: E501 - lines with secrets are as long as they are
"""No rule takes much longer on a long line than on many short ones: nobody can stop the reading by writing a line."""

from __future__ import annotations

import time

import pytest

from leadsman.redaction import mask
from leadsman.redaction.commands import RULES
from leadsman.redaction.prefilter import HINTS
from leadsman.redaction.token_forms import FORMS

SMALL, SHORT, MIDDLE, LONG = 1 << 11, 1 << 16, 1 << 15, 1 << 20
MOST_TIMES = 3.0
"""Of the growth of the text. A rule that is quadratic takes 16 times as long for each letter."""

LEAST_SECONDS = 0.05
"""Below this, the clock and the memory decide."""

UNITS = [
    "a", " ", "=", '"', "\\", "-", "/", ":", "@", "://", "://a:", "x@", "password", "password=", 'password="', "password='",
    'password=\\"', "pass ", "--password ", "token ", 'token":"', "key=", "&key=", "api_key:", "secret(", "secret[", "[",
    "{secret=", "secret=a, ", "secret=a ", "Authorization: ", "Authorization: Digest a='", 'Authorization="Digest ',
    "Bearer a", "Basic ", "cookie: a=", "cookie: a=b; ", "<password>", "<password ", "&lt;password&gt;", "name=password ",
    '"name":"password",', '"value":"a","name":"password"', "| password |", "('password', '", "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----", "-----BEGIN ", "a@tcp(", "a:b@tcp(", "oracle a/b@", "eyJaaaaaaaa.", "curl -u a:",
    "password: |", "sasl.jaas.config=", "user_a=", "org.apache.kafka.", "secret=a.b.c.D", "secret=/etc/a", "%22", "&quot;",
    "password&quot;:&quot;", "identified by '", "digest:a:", "_", "0", "AKIA", "password=(", "password=}", "pwd=/a",
]  # fmt: skip
LINES = [
    "password:\n", "password: |\n a", "x\\\n", "password=a\\\n", "name: password\n", "-----BEGIN PRIVATE KEY-----\n",
    "-----END PRIVATE KEY-----\n", "2026-11-21 ERROR K - password: |\n", "2026-11-21 ERROR K - -----BEGIN PRIVATE KEY-----\n",
    "2026-11-21 ERROR K - sasl.password=a\\\n", "[a] password:\n[ab] x\n[abc] token:\n", '{"log":"password: |\\n"}\n',
    '{"log":"-----BEGIN PRIVATE KEY-----\\nMIIE\\n"}\n', "kind: Secret\n", "data:\n  a: b\nkind: Secret\n", 'secret = """\n',
]  # fmt: skip
RULE_HINTS = sorted(
    {*HINTS, *(hint for form in FORMS for hint in form.hints.split("|")), *(rule.hint for rule in RULES)}
)


def seconds(text: str) -> float:
    """The CPU time of masking, which other programs disturb less than wall time."""
    started = time.process_time()
    mask(text)
    return time.process_time() - started


def filled(unit: str, size: int) -> str:
    return unit * (size // len(unit))


def is_in_proportion(unit: str, short: int, long: int, before: str = "") -> bool:
    """Whether masking a long text takes so many times as long as masking a short one, as it is longer."""
    first, second = (seconds(before + filled(unit, size)) for size in (short, long))
    return second <= max(LEAST_SECONDS, first * MOST_TIMES * (long / short))


@pytest.mark.parametrize("unit", [*UNITS, *RULE_HINTS])
def test_a_long_line_takes_time_in_proportion(unit: str) -> None:
    assert is_in_proportion(unit, SMALL, MIDDLE, "password=a ")


@pytest.mark.long
@pytest.mark.parametrize("unit", [*UNITS, *RULE_HINTS])
def test_a_line_of_a_megabyte_takes_time_in_proportion(unit: str) -> None:
    assert is_in_proportion(unit, SHORT, LONG, "password=a ")


@pytest.mark.parametrize("unit", LINES)
def test_many_lines_take_time_in_proportion(unit: str) -> None:
    assert is_in_proportion(unit, SHORT // 8, LONG // 8)


@pytest.mark.long
@pytest.mark.parametrize("unit", LINES)
def test_a_megabyte_of_lines_takes_time_in_proportion(unit: str) -> None:
    assert is_in_proportion(unit, SHORT, LONG)
