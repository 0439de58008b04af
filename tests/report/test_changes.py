"""What changed, as it is said: on the page, on the console, in the JSON."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from jsonschema import Draft202012Validator
from rich.console import Console

from leadsman.model import Change, Changes, Diagnosis, Evidence, How
from leadsman.report.changes import sentence, silences
from leadsman.report.console import show, show_changes
from leadsman.report.findings_json import schema, to_json
from leadsman.report.page import render

LINE = Evidence(file="kafka/topics.txt", line=8, text="Topic: orders", time=datetime(2020, 12, 19, 22, tzinfo=UTC))
KEPT = Change(
    kind="configuration",
    how=How.CHANGED,
    things=("topic orders",),
    count=1,
    key="retention.ms",
    before="604800000",
    after="315360000000",
    evidence=LINE,
)
TAKEN = Change(kind="ids_taken", how=How.MORE, things=("orders-v2 (10.2.3.4)",), count=1, before=2.0, after=3_000.0)
NEW = Change(kind="client", how=How.NEW, things=("a", "b", "c", "d", "e"), count=7)
HOSTILE = replace(KEPT, things=("<script>alert(1)</script>",), evidence=replace(LINE, file="<b>\x1b[31m.txt"))


@pytest.fixture
def begun(present: Diagnosis) -> Diagnosis:
    finding = replace(present.findings[0], changes=(KEPT, TAKEN, NEW, HOSTILE))
    return replace(present, findings=(finding,))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (KEPT, "retention.ms: 604800000 before, 315360000000 after: topic orders"),
        (TAKEN, "producer ids taken an hour, orders-v2 (10.2.3.4): 2 before, 3,000 after, 1,500 times as many"),
        (NEW, "client ids, new: a, b, c, d and 3 more"),
        (replace(KEPT, how=How.GONE, after=None), "retention.ms (it was 604800000), gone: topic orders"),
    ],
    ids=["changed", "more", "new", "gone"],
)
def test_a_change_is_one_sentence(change: Change, said: str) -> None:
    assert sentence(change) == said


def test_the_page_says_what_changed_and_where_that_is_told_and_obeys_nothing(begun: Diagnosis) -> None:
    page = render([begun])

    assert "What changed when it began" in page
    assert sentence(KEPT) in page
    assert "kafka/topics.txt:8" in page
    assert "<script>alert" not in page
    assert "\x1b" not in page


def test_the_console_says_the_same(begun: Diagnosis) -> None:
    told = io.StringIO()

    show([begun], Console(file=told, width=200))

    assert "What changed when it began" in told.getvalue()
    assert sentence(TAKEN) in told.getvalue()
    assert "\x1b[31m" not in told.getvalue()


def test_the_json_keeps_the_contract(begun: Diagnosis) -> None:
    document = to_json([begun])

    assert list(Draft202012Validator(schema()).iter_errors(document)) == []
    assert document["captures"][0]["findings"][0]["changes"][1]["after"] == 3_000


def test_what_could_not_be_compared_is_said() -> None:
    changes = Changes(changes=(), compared=("topic",), unseen=(("host", True, False), ("leader", False, False)))
    told = io.StringIO()

    show_changes(changes, {"before": "friday", "after": "sunday"}, limit=5, console=Console(file=told, width=200))

    assert silences(changes) == [
        "nothing after is told of hosts",
        "nothing at all is told of leaders of partitions",
    ]
    assert "0 changes" in told.getvalue()
    assert "nothing after is told of hosts" in told.getvalue()
