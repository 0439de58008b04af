"""The JSON contract: what programs may rely on."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from leadsman.report.json_documents.findings import findings_document, findings_json, findings_schema, iso_time


@pytest.fixture
def contract():
    return Draft202012Validator(findings_schema())


@pytest.fixture
def document(present, unknown, absent):
    return findings_document((present, unknown, absent))


def test_the_schema_is_itself_a_valid_schema():
    Draft202012Validator.check_schema(findings_schema())


@pytest.mark.parametrize("name", ["present", "unknown", "absent", "hostile", "reach"])
def test_what_is_printed_keeps_the_contract(name, contract, request):
    diagnosis = request.getfixturevalue(name)

    printed = json.loads(findings_json([diagnosis]))

    assert list(contract.iter_errors(printed)) == []


def test_the_example_in_the_documentation_keeps_the_contract(contract):
    text = (Path(__file__).parents[2] / "docs" / "findings.md").read_text(encoding="utf-8")

    example = json.loads(text[text.index("```json") + len("```json") :].partition("```")[0])

    assert list(contract.iter_errors(example)) == []


def test_captures_come_in_the_order_of_the_call(document):
    paths = [capture["path"] for capture in document["captures"]]

    assert paths == ["captures/account-linking", "mail.txt", "captures/healthy"]


def test_an_entry_names_its_cluster(present, absent, contract):
    printed = findings_document([replace(present, cluster="stqwfmvfRzeBrk7eRGCzkA"), absent])

    assert [capture["cluster"] for capture in printed["captures"]] == ["stqwfmvfRzeBrk7eRGCzkA", None]
    assert contract.is_valid(printed)


def test_a_quoted_line_is_the_line_to_the_letter(hostile):
    printed = json.loads(findings_json([hostile]))

    quoted = printed["captures"][0]["findings"][0]["chain"][0]["evidence"][0]
    assert quoted["text"] == hostile.findings[0].chain[0].evidence[0].text
    assert quoted["line"] == 1


def test_the_document_is_ascii_even_where_a_file_name_is_no_text(hostile):
    printed = findings_json([hostile])

    assert printed.isascii()
    assert "name-\\\\xe9" in printed


def test_figures_that_are_no_number_become_null(present, contract):
    figures = {"errors": 7, "gap": float("nan"), "limit_high": float("inf")}
    finding = replace(present.findings[0], figures=figures)

    printed = findings_document([replace(present, findings=(finding,))])

    assert printed["captures"][0]["findings"][0]["figures"] == {"errors": 7, "gap": None, "limit_high": None}
    assert contract.is_valid(printed)


def test_subjects_of_any_kind_become_json(present, contract):
    subjects = {
        "workers": {"b", "a"},
        "since": datetime(2020, 12, 20, tzinfo=UTC),
        "span": timedelta(seconds=3),
        "all": True,
    }
    finding = replace(present.findings[0], subjects=subjects)

    printed = findings_document([replace(present, findings=(finding,))])

    written = printed["captures"][0]["findings"][0]["subjects"]
    assert written == {"workers": ["a", "b"], "since": "2020-12-20T00:00:00.000Z", "span": "0:00:03", "all": True}
    assert contract.is_valid(printed)


@pytest.mark.parametrize(
    ("time", "written"),
    [
        (None, None),
        (datetime(2020, 12, 20, 8, 14, 3, 120_900, tzinfo=UTC), "2020-12-20T08:14:03.120Z"),
        (datetime(2020, 12, 20, 8, 14, 3, tzinfo=timezone(timedelta(hours=2))), "2020-12-20T06:14:03.000Z"),
        (datetime(2020, 12, 20, 8, 14, 3), "2020-12-20T08:14:03.000Z"),  # noqa: DTZ001 - a log line without a zone
    ],
)
def test_times_are_written_in_utc_to_the_millisecond(time, written):
    assert iso_time(time) == written


def _capture(document):
    return document["captures"][0]


def _finding(document):
    return document["captures"][0]["findings"][0]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d.update(schema="leadsman.findings/2"),
        lambda d: d.pop("captures"),
        lambda d: _capture(d).pop("verdicts"),
        lambda d: _capture(d).update(lines=-1),
        lambda d: _capture(d).update({"from": "yesterday"}),
        lambda d: _capture(d).update(unheard_of=1),
        lambda d: _capture(d)["verdicts"].update(idle_disconnect="MAYBE"),
        lambda d: _capture(d)["verdicts"].update({"Idle Disconnect": "ABSENT"}),
        lambda d: _capture(d)["benign"][0].pop("why"),
        lambda d: _capture(d)["unexplained"][0].update(count=0),
        lambda d: _capture(d)["unexplained"][0].update(why="that is for benign ones"),
        lambda d: _finding(d).update(confidence=0.97),
        lambda d: _finding(d)["chain"][0].update(state="likely"),
        lambda d: _finding(d)["chain"][0]["evidence"][0].update(line=0),
        lambda d: _finding(d)["chain"][0]["evidence"][0].pop("file"),
        lambda d: _finding(d)["alternatives"][0].pop("ruled_out_by"),
        lambda d: _finding(d)["figures"].update(gap=[1, 2]),
    ],
)
def test_the_schema_rejects_what_the_contract_does_not_allow(spoil, document, contract):
    assert contract.is_valid(document)

    spoil(document)

    assert not contract.is_valid(document)
