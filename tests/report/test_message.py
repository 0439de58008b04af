"""The message about a finding: no text of a log becomes markup, a link or a mention, and none is a secret."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from markdown_it import MarkdownIt

from leadsman.model import Diagnosis, Evidence, Finding, LinkFinding, State, Verdict
from leadsman.report.message.jira_wiki import jira_text
from leadsman.report.message.markdown import markdown_text
from leadsman.report.message.message import FindingMessage, message_about
from leadsman.report.message.plain_text import plain_text
from leadsman.report.message.slack import slack_text

WRITERS = [markdown_text, slack_text, jira_text, plain_text]
HOSTILE = (
    "- 1. # > <!channel> <@U012AB3CD> @channel @octocat fixes #12 GH-7 `rm` *bold* _x_ ~y~ [x](http://evil) "
    "![i](http://evil) <img src=x onerror=alert(1)> &lt;b&gt; {code} {color:red} [~admin] |t| \\*"
    " \x1b[31m\u202e\r\n# H\x00"
)
FENCES = "``` ````` ~~~ {noformat} {NOFORMAT} <!here> @channel </code></pre>"


def evidence(number: int, text: str = "ERROR") -> Evidence:
    return Evidence(file="worker.log", line=number, text=text)


def link(*lines: Evidence, state: State = State.OBSERVED) -> LinkFinding:
    return LinkFinding(link="x", claim="x", state=state, explanation="", evidence=lines)


def message(
    title: str = "Idle disconnect", *, chain: tuple[LinkFinding, ...] = (), steps: tuple[str, ...] = ()
) -> FindingMessage:
    finding = Finding(
        mode="idle_disconnect", verdict=Verdict.PRESENT, title=title, summary="", chain=chain, do_now=steps
    )
    return message_about(Diagnosis(path="logs", verdicts={}, findings=(finding,), cluster=title), finding)


def lines_of(*chain: LinkFinding) -> list[str]:
    return [each.where for each in message(chain=chain).proof]


def test_the_proof_is_the_first_line_of_each_observed_link() -> None:
    found = lines_of(link(evidence(1), evidence(2)), link(evidence(3), state=State.NOT_VISIBLE), link(evidence(4)))

    assert found == ["worker.log:1", "worker.log:4", "worker.log:2"]


def test_of_many_links_the_proof_is_the_first_a_middle_and_the_last() -> None:
    assert lines_of(*(link(evidence(number)) for number in range(1, 6))) == [
        "worker.log:1",
        "worker.log:3",
        "worker.log:5",
    ]


def test_a_line_that_supports_two_links_is_quoted_once() -> None:
    assert lines_of(link(evidence(1)), link(evidence(1))) == ["worker.log:1"]


@pytest.mark.parametrize("write", WRITERS)
def test_secrets_are_masked_and_control_characters_spelled_out(write) -> None:
    text = write(
        message(HOSTILE, chain=(link(evidence(1, "password=hunter22 \x1b]0;t\x07")),), steps=("token: hunter22",))
    )

    assert "hunter22" not in text
    assert re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", text) is None


def test_markdown_renders_as_the_text_itself() -> None:
    given = message(HOSTILE, chain=(link(evidence(1, FENCES)),), steps=(HOSTILE,))

    html = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(markdown_text(given))

    tags = set(re.findall(r"<(/?[a-z0-9]+)", html)) - {"h3", "/h3", "p", "/p", "ol", "/ol", "li", "/li"}
    assert tags == {"strong", "/strong", "pre", "/pre", "code", "/code"}
    assert html.count("<strong>") == 2
    assert html.count("<pre>") == 1
    assert not re.search(r"(?<!\w)@\w|#\d|GH-\d", html.partition("<pre>")[0])


def test_slack_has_no_mention_and_one_code_block() -> None:
    text = slack_text(message(HOSTILE, chain=(link(evidence(1, FENCES)),), steps=(HOSTILE,)))

    assert "<!" not in text
    assert "<@" not in text
    assert text.count("```") == 2
    assert not re.search(r"(?<!\w)@\w", text.partition("```")[0])


def test_jira_has_no_macro_and_no_mention() -> None:
    text = jira_text(message(HOSTILE, chain=(link(evidence(1, FENCES)),), steps=(HOSTILE,)))

    assert len(re.findall(r"(?i)\{noformat\}", text)) == 2
    assert not re.search(r"(?<!\\)[\[{]", text.replace("{noformat}", "").partition("worker.log")[0])


def test_a_command_stays_as_it_can_be_pasted() -> None:
    command = "Run leadsman remedy producer_id_leak --bootstrap host:9092 --do"

    assert command in slack_text(message(steps=(command,)))


def test_a_long_title_is_cut() -> None:
    assert len(message("t" * 10_000).title) == 400


@pytest.mark.parametrize("write", WRITERS)
def test_a_message_without_steps_proof_and_link_is_short(write) -> None:
    text = write(replace(message(), cluster=""))

    assert "Do now" not in text
    assert "Proof" not in text
    assert "Report" not in text


def test_time_and_impact_stand_below_the_title() -> None:
    begin = datetime(2026, 2, 16, 12, tzinfo=UTC)
    known = replace(
        message(),
        since=begin,
        until=begin + timedelta(minutes=5),
        impact="7 records are lost.",
        cluster="",
        path="logs",
    )

    facts = ["idle_disconnect in logs", "Time: 2026-02-16 12:00:00 to 12:05:00 UTC", "Impact: 7 records are lost."]
    assert known.facts == facts
    for write in (markdown_text, slack_text, jira_text, plain_text):
        assert "7 records are lost." in write(known)
        assert "12:05:00 UTC" in write(known)
