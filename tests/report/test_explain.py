"""What `leadsman explain` tells, and the page of the first mode."""

import io
from importlib.resources import files

import pytest
from rich.console import Console

from leadsman.errors import TemplateError
from leadsman.model import Alternative, BenignLine, Cure, FailureMode, Harm, Link
from leadsman.report.mode_page.explain import SECTIONS, explain, fenced, filled_page, sections

LINK = Link(id="quiet", claim="It was quiet.", observed="", contradicted="", not_visible="", collect_command="")
ALTERNATIVE = Alternative(id="restart", cause="A broker restarted", ruled_out="", observed="", not_visible="")
CARD = FailureMode(
    title="Idle connections are closed under the client",
    harm=(Harm.LOST, Harm.DELAYED),
    summary="{errors:count} errors",
    unknown="",
    absent="",
    no_source="",
    next="",
    chain=(LINK, LINK),
    alternatives=(ALTERNATIVE,),
    cure=(Cure("Close first", "From the client's side.", "connections.max.idle.ms=180000"), Cure("Retry", "It helps.")),
    explains=(),
    benign=(BenignLine("Node 1 disconnected.", "nothing was under way"),),
    story=("It was a Sunday.", "Nothing was red."),
)
EXCERPT = "[WARN] The server disconnected before a response was received.."


def on_terminal(page_text, excerpt=EXCERPT, encoding="utf-8"):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="")
    explain(CARD, page_text, excerpt, Console(file=stream, width=80, force_terminal=False))
    stream.flush()
    return raw.getvalue().decode(encoding)


@pytest.fixture
def page_text():
    return (files("leadsman.modes") / "idle_disconnect" / "page.md").read_text(encoding="utf-8")


def test_the_page_of_idle_disconnect_has_exactly_the_sections_of_every_page(page_text):
    assert sections(page_text) == SECTIONS


def test_the_page_of_idle_disconnect_is_filled_completely(page_text):
    filled = filled_page(CARD, page_text, EXCERPT)

    assert "{{" not in filled
    assert filled.startswith("# Idle connections are closed under the client")
    assert "1. It was a Sunday.\n2. Nothing was red." in filled
    assert f"```text\n{EXCERPT}\n```" in filled
    assert "- A broker restarted" in filled


@pytest.mark.parametrize("client", ["Java", "librdkafka", "kafka-python", "aiokafka"])
def test_the_page_of_idle_disconnect_knows_words_and_settings_of_each_client(client, page_text):
    rows = [line for line in page_text.splitlines() if line.startswith("|") and client in line]

    assert len(rows) >= 3


def test_an_explanation_reads_well_on_a_terminal(page_text):
    text = on_terminal(page_text)

    assert "What you see" in text
    assert "The server disconnected before a response was received.." in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


def test_a_terminal_without_unicode_still_gets_the_explanation():
    text = on_terminal("Grüße: {{ title }}", encoding="ascii")

    assert "Idle connections are closed under the client" in text


def test_settings_stand_within_their_step():
    filled = filled_page(CARD, "{{ cure }}", "")

    assert filled == (
        "1. **Close first.** From the client's side.\n\n   ```text\n   connections.max.idle.ms=180000\n   ```\n\n"
        "2. **Retry.** It helps."
    )


def test_a_page_that_asks_for_something_unknown_is_an_error_that_lists_what_is_known():
    with pytest.raises(TemplateError, match="excerpt") as raised:
        filled_page(CARD, "{{ tittle }}", EXCERPT)

    assert "tittle" in str(raised.value)


def test_an_excerpt_cannot_leave_its_block_or_act():
    filled = filled_page(CARD, "{{ excerpt }}", "```\n# heading {{ title }}\n\x1b[31m````")

    assert filled == "`````text\n```\n# heading {{ title }}\n\\x1b[31m````\n`````"
    assert "\x1b" not in on_terminal("{{ excerpt }}", "\x1b[31m")


def test_headings_within_code_are_no_sections():
    page_text = f"## What you see\n{fenced('## not one')}\n## Why it happens\n"

    assert sections(page_text) == ("What you see", "Why it happens")


def test_a_long_word_in_a_table_is_broken_and_never_cut():
    word = "kafka-delete-records --offset-json-file trimmed-to-the-last-offset-of-each-partition.json".replace(" ", "_")

    text = on_terminal(f"| what | where | when |\n|---|---|---|\n| {word} | {word} | now |")

    assert "…" not in text
    assert "partition.json" in "".join(text.split())
