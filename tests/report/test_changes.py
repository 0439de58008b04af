"""Changes on the page, on the console and in the JSON."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from jsonschema import Draft202012Validator
from rich.console import Console

from leadsman.model import Change, Changes, ChangeType, Diagnosis, Evidence
from leadsman.report.console.changes import show_changes
from leadsman.report.console.findings import show_diagnoses
from leadsman.report.json_documents.findings import findings_document, findings_schema
from leadsman.report.page.render import render_page
from leadsman.report.text.changes import change_sentence, not_comparable_sentences

LINE = Evidence(file="kafka/topics.txt", line=8, text="Topic: orders", time=datetime(2020, 12, 19, 22, tzinfo=UTC))
KEPT = Change(
    kind="configuration",
    how=ChangeType.CHANGED,
    things=("topic orders",),
    count=1,
    key="retention.ms",
    before="604800000",
    after="315360000000",
    evidence=LINE,
)
TAKEN = Change(
    kind="producer_ids_allocated",
    how=ChangeType.MORE,
    things=("orders-v2 (10.2.3.4)",),
    count=1,
    before=2.0,
    after=3_000.0,
)
TAKEN_TEXT = (
    "new producer ids per hour in clients' logs, orders-v2 (10.2.3.4): 2 before, 3,000 after, 1,500 times as many"
)
NEW = Change(kind="client", how=ChangeType.NEW, things=("a", "b", "c", "d", "e"), count=7)
HOSTILE = replace(KEPT, things=("<script>alert(1)</script>",), evidence=replace(LINE, file="<b>\x1b[31m.txt"))


@pytest.fixture
def begun(present: Diagnosis) -> Diagnosis:
    finding = replace(present.findings[0], changes=(KEPT, TAKEN, NEW, HOSTILE))
    return replace(present, findings=(finding,))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (KEPT, "retention.ms: 604800000 before, 315360000000 after: topic orders"),
        (TAKEN, TAKEN_TEXT),
        (NEW, "client ids, new: a, b, c, d and 3 more"),
        (replace(KEPT, how=ChangeType.GONE, after=None), "retention.ms (it was 604800000), gone: topic orders"),
    ],
    ids=["changed", "more", "new", "gone"],
)
def test_a_change_is_one_sentence(change: Change, sentence: str) -> None:
    assert change_sentence(change) == sentence


def test_the_page_shows_what_changed_with_its_line_and_no_line_can_act(begun: Diagnosis) -> None:
    page = render_page([begun])

    assert "Changes when it began" in page
    assert change_sentence(KEPT) in page
    assert "kafka/topics.txt:8" in page
    assert "<script>alert" not in page
    assert "\x1b" not in page


def test_the_console_shows_the_same(begun: Diagnosis) -> None:
    output = io.StringIO()

    show_diagnoses([begun], Console(file=output, width=200))

    assert "Changes when it began" in output.getvalue()
    assert change_sentence(TAKEN) in output.getvalue()
    assert "\x1b[31m" not in output.getvalue()


def test_the_json_keeps_the_contract(begun: Diagnosis) -> None:
    document = findings_document([begun])

    assert list(Draft202012Validator(findings_schema()).iter_errors(document)) == []
    assert document["captures"][0]["findings"][0]["changes"][1]["after"] == 3_000


def test_kinds_that_could_not_be_compared_are_named() -> None:
    changes = Changes(changes=(), compared=("topic",), not_comparable=(("host", True, False), ("leader", False, False)))
    output = io.StringIO()

    show_changes(changes, {"before": "friday", "after": "sunday"}, limit=5, console=Console(file=output, width=200))

    assert not_comparable_sentences(changes) == [
        "hosts: no data after",
        "leaders of partitions: no data on either side",
    ]
    assert "0 changes" in output.getvalue()
    assert "hosts: no data after" in output.getvalue()
