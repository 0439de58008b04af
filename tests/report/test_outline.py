"""Sentences that console and page share: certainty, next step, alternatives."""

from dataclasses import replace

import pytest

from leadsman.model import AlternativeFinding, Verdict
from leadsman.report.text.findings import (
    alternative_text,
    certainty,
    diagnosis_titles,
    headline,
    next_step,
    subject_rows,
    worst_verdict,
)


@pytest.mark.parametrize(
    ("text", "parted"),
    [
        ("leadsman collect logs DIR", ("", "leadsman collect logs DIR")),
        ("Prove it: leadsman reproduce idle_disconnect", ("Prove it", "leadsman reproduce idle_disconnect")),
        ("Log the client at INFO (Java: org.apache.kafka)", ("Log the client at INFO (Java: org.apache.kafka)", "")),
        ("", ("", "")),
    ],
)
def test_the_command_of_a_next_step_stands_apart_so_that_it_can_be_copied(text, parted, present):
    finding = replace(present.findings[0], next=text)

    assert next_step(finding) == parted


@pytest.mark.parametrize(
    ("alternative", "text"),
    [
        (AlternativeFinding(cause="x", ruled_out_by="No restart.", explanation="No restart."), "No restart."),
        (
            AlternativeFinding(cause="x", ruled_out_by="No restart.", explanation="It strikes all."),
            "No restart. It strikes all.",
        ),
        (AlternativeFinding(cause="x", ruled_out_by=None, explanation="3 coincide."), "3 coincide."),
        (AlternativeFinding(cause="x", ruled_out_by=None, explanation="Not ruled out: no log."), "No log."),
        (AlternativeFinding(cause="x", ruled_out_by=None, explanation="Not ruled out."), ""),
        (AlternativeFinding(cause="x", ruled_out_by=None, explanation="Cannot be ruled out: no log."), "No log."),
    ],
)
def test_the_reason_about_an_alternative_is_given_once(alternative, text):
    assert alternative_text(alternative) == text


@pytest.mark.parametrize(
    ("subjects", "rows"),
    [
        ({"affected": ["a", "b"]}, [("affected", "a, b")]),
        ({"affected": ["a", "b", "c"]}, [("affected", "a, b and 1 more")]),
        ({"affected": ["a", "b"], "affected_count": 10_000}, [("affected", "a, b and 9,998 more")]),
        ({"quiet_count": 1_204, "kept": True}, [("quiet count", "1,204"), ("kept", "True")]),
        ({"by_host": {"h1": 3, "h2": 1}}, [("by host", "h1 (3 subjects), h2")]),
        ({"named": {"b", "a"}}, [("named", "a, b")]),
    ],
)
def test_subjects_are_listed_shortly_and_counted_in_full(subjects, rows, present):
    finding = replace(present.findings[0], subjects=subjects)

    assert subject_rows(finding, 2) == rows


def test_certainty_counts_links_and_explains_present(present, unknown):
    assert certainty(present.findings[0]).startswith(
        "All 3 links of the causal chain were observed, on the same subjects"
    )
    assert certainty(unknown.findings[0]) == "Of 3 links of the causal chain: 1 observed, 2 not visible."


def test_a_link_that_is_not_required_may_stay_unseen(present, unknown):
    finding = replace(present.findings[0], chain=(*present.findings[0].chain, unknown.findings[0].chain[0]))

    assert "3 observed, 1 not visible. Every required link was observed" in certainty(finding)


def test_the_worst_verdict_comes_first(present, absent):
    assert worst_verdict(present) is Verdict.PRESENT
    assert worst_verdict(absent) is Verdict.ABSENT
    assert worst_verdict(replace(absent, verdicts={})) is Verdict.UNKNOWN
    assert headline(replace(absent, verdicts={})) == "No failure mode was evaluated"


def test_captures_of_one_cluster_are_named_by_their_paths(present, unknown):
    assert diagnosis_titles([replace(present, cluster="east"), unknown]) == [present.path, unknown.path]


def test_captures_of_several_clusters_are_named_by_these_too(present, unknown, absent):
    diagnoses = [replace(present, cluster="east"), replace(unknown, cluster="west"), absent]

    assert diagnosis_titles(diagnoses) == [
        f"{present.path} (cluster east)",
        f"{unknown.path} (cluster west)",
        absent.path,
    ]


def test_what_is_of_no_single_cluster_in_a_capture_is_named_so(present):
    parts = [replace(present, cluster="east"), present]

    assert diagnosis_titles(parts) == [f"{present.path} (cluster east)", f"{present.path} (no single cluster)"]
