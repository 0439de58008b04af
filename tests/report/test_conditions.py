"""Conditions on console, page and JSON: before the findings, with who, since when and the line."""

import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from jsonschema import Draft202012Validator
from rich.console import Console

from leadsman.cli.commands.diagnose import exit_code
from leadsman.model import Diagnosis, Evidence
from leadsman.model.condition import Condition
from leadsman.report.console.findings import CONDITIONS_SHOWN, show_diagnoses
from leadsman.report.json_documents.findings import findings_document, findings_schema
from leadsman.report.page.render import render_page
from leadsman.report.text.conditions import duration_text, subjects_text, time_text

BEGAN = datetime(2020, 12, 20, 8, 0, tzinfo=UTC)
LINE = Evidence(file="kafka/topics.txt", line=9, text="\tTopic: orders\tPartition: 1\tLeader: none", time=BEGAN)
ONGOING = Condition(
    kind="partition_without_leader",
    title="1 partition has no leader.",
    severity=1,
    ongoing=True,
    count=1,
    subjects=("orders-1",),
    since=BEGAN,
    figures={"standing": 1},
    evidence=(LINE,),
)
OVER = replace(ONGOING, ongoing=False, until=BEGAN + timedelta(seconds=49), count=9)


@pytest.fixture
def with_conditions(absent: Diagnosis) -> Diagnosis:
    return replace(absent, conditions=(ONGOING, OVER))


def shown(diagnosis: Diagnosis) -> str:
    out = io.StringIO()
    show_diagnoses([diagnosis], Console(file=out, width=100))
    return out.getvalue()


def test_the_console_names_a_condition_its_owner_and_its_line(with_conditions):
    text = shown(with_conditions)

    assert ONGOING.title in text
    assert "orders-1" in text
    assert "kafka/topics.txt:9" in text
    assert "Leader: none" in text


def test_conditions_stand_before_findings(present):
    text = shown(replace(present, conditions=(ONGOING,)))

    assert text.index(ONGOING.title) < text.index("PRESENT  ")


def test_of_many_conditions_the_console_counts_the_rest(absent):
    text = shown(replace(absent, conditions=(ONGOING,) * (CONDITIONS_SHOWN + 3)))

    assert text.count(ONGOING.title) == CONDITIONS_SHOWN
    assert "3 more conditions" in text


def test_a_diagnosis_without_conditions_shows_none(absent):
    assert "Conditions" not in shown(absent)
    assert 'class="conditions"' not in render_page([absent])


def test_the_page_holds_every_condition_with_its_lines(with_conditions):
    page = render_page([with_conditions])

    assert page.count(ONGOING.title) == len(with_conditions.conditions)
    assert "Leader: none" in page


def test_a_quoted_line_cannot_act_on_the_page(absent):
    hostile = replace(LINE, text="<script>alert(1)</script>")

    page = render_page([replace(absent, conditions=(replace(ONGOING, subjects=("<b>x",), evidence=(hostile,)),))])

    assert "<script>alert" not in page
    assert "<b>x" not in page


def test_the_json_keeps_its_contract_with_conditions(with_conditions):
    document = findings_document([with_conditions])

    assert list(Draft202012Validator(findings_schema()).iter_errors(document)) == []
    assert [each["until"] for each in document["captures"][0]["conditions"]] == [None, "2020-12-20T08:00:49.000Z"]


def test_a_condition_is_no_verdict(with_conditions, absent):
    assert exit_code([with_conditions]) == exit_code([absent])


def test_an_ended_condition_has_a_duration():
    assert duration_text(OVER) == "49 s"
    assert duration_text(ONGOING) == ""


def test_an_ongoing_condition_has_a_beginning():
    assert time_text(ONGOING).startswith("since ")


def test_omitted_subjects_are_counted():
    assert subjects_text(OVER, 3) == "orders-1 and 8 more"
