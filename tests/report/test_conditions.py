"""Conditions on console, page and JSON: before the findings, with who, since when and the line."""

import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from jsonschema import Draft202012Validator
from rich.console import Console

from leadsman.cli.diagnose import exit_code
from leadsman.condition import Condition
from leadsman.model import Diagnosis, Evidence
from leadsman.report.conditions import how_long, when, who
from leadsman.report.console import CONDITIONS_SHOWN, show
from leadsman.report.findings_json import schema, to_json
from leadsman.report.page import render

BEGAN = datetime(2020, 12, 20, 8, 0, tzinfo=UTC)
LINE = Evidence(file="kafka/topics.txt", line=9, text="\tTopic: orders\tPartition: 1\tLeader: none", time=BEGAN)
STANDING = Condition(
    kind="partition_without_leader",
    title="1 partition has no leader.",
    severity=1,
    stands=True,
    count=1,
    subjects=("orders-1",),
    since=BEGAN,
    figures={"standing": 1},
    evidence=(LINE,),
)
OVER = replace(STANDING, stands=False, until=BEGAN + timedelta(seconds=49), count=9)


@pytest.fixture
def wrong(absent: Diagnosis) -> Diagnosis:
    return replace(absent, conditions=(STANDING, OVER))


def shown(diagnosis: Diagnosis) -> str:
    out = io.StringIO()
    show([diagnosis], Console(file=out, width=100))
    return out.getvalue()


def test_the_console_names_a_condition_its_owner_and_its_line(wrong):
    said = shown(wrong)

    assert STANDING.title in said
    assert "orders-1" in said
    assert "kafka/topics.txt:9" in said
    assert "Leader: none" in said


def test_conditions_stand_before_findings(present):
    said = shown(replace(present, conditions=(STANDING,)))

    assert said.index(STANDING.title) < said.index("PRESENT  ")


def test_of_many_conditions_the_console_counts_the_rest(absent):
    said = shown(replace(absent, conditions=(STANDING,) * (CONDITIONS_SHOWN + 3)))

    assert said.count(STANDING.title) == CONDITIONS_SHOWN
    assert "3 more conditions" in said


def test_a_diagnosis_without_conditions_says_nothing_of_them(absent):
    assert "Conditions" not in shown(absent)
    assert 'class="conditions"' not in render([absent])


def test_the_page_holds_every_condition_with_its_lines(wrong):
    page = render([wrong])

    assert page.count(STANDING.title) == len(wrong.conditions)
    assert "Leader: none" in page


def test_what_a_line_says_cannot_act_on_the_page(absent):
    hostile = replace(LINE, text="<script>alert(1)</script>")

    page = render([replace(absent, conditions=(replace(STANDING, subjects=("<b>x",), evidence=(hostile,)),))])

    assert "<script>alert" not in page
    assert "<b>x" not in page


def test_the_json_keeps_its_contract_with_conditions(wrong):
    document = to_json([wrong])

    assert list(Draft202012Validator(schema()).iter_errors(document)) == []
    assert [each["until"] for each in document["captures"][0]["conditions"]] == [None, "2020-12-20T08:00:49.000Z"]


def test_a_condition_is_no_verdict(wrong, absent):
    assert exit_code([wrong]) == exit_code([absent])


def test_what_is_over_says_how_long_it_lasted():
    assert how_long(OVER) == "49 s"
    assert how_long(STANDING) == ""


def test_what_stands_says_since_when():
    assert when(STANDING).startswith("since ")


def test_those_that_are_not_named_are_counted():
    assert who(OVER, 3) == "orders-1 and 8 more"
