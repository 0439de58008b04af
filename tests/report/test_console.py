"""What a person sees on a terminal, in a pipe, in a narrow window and where a log is hostile."""

import contextlib
import io
import os
import pty
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from leadsman.model import ErrorGroup, Evidence, NotCollectedItem, NotUnderstood, Verdict
from leadsman.report.console.findings import show_diagnoses

ESCAPE = "\x1b"


def shown(*diagnoses, width=80, terminal=True, encoding="utf-8", color=None):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="")
    show_diagnoses(
        diagnoses, Console(file=stream, width=width, force_terminal=terminal, color_system=color, legacy_windows=False)
    )
    stream.flush()
    return raw.getvalue().decode(encoding)


def test_a_finding_shows_title_chain_cure_and_alternatives(present):
    text = shown(present)

    assert "PRESENT  Workers sent on connections that an idle limit had closed" in text
    assert "All 3 links of the causal chain were observed," in text
    assert "[$LATEST]8f3c1be0d2a94c51/000000.gz:1041" in text
    assert "connections.max.idle.ms=180000" in text
    assert "A broker restarted or shut down (ruled out) no two of the 7 errors" in text
    assert "A firewall or NAT on the way forgot the connection (cannot be ruled out) " in text


def test_an_alternative_that_the_capture_shows_is_called_observed(present):
    finding = present.findings[0]
    shown_cause = replace(finding.alternatives[-1], is_observed=True)
    findings = (replace(finding, alternatives=(shown_cause,)), *present.findings[1:])

    assert "forgot the connection (observed) " in shown(replace(present, findings=findings))


def test_what_no_finding_explains_comes_after_the_findings(present):
    text = shown(present)

    assert text.index("Other errors") > text.index("Cure")
    assert "12 × org.apache.kafka.common.errors.TopicAuthorizationException" in text  # noqa: RUF001 - as it is shown
    assert "Harmless: 34 ×" in text  # noqa: RUF001 - as it is shown
    assert "core.1189: binary" in text


def test_an_unknown_finding_names_the_next_command_on_one_line(unknown):
    text = shown(unknown, width=40)

    assert "     leadsman collect --since 2020-12-20T08:00 --until 2020-12-20T08:20 --out capture/\n" in text
    assert "Of 3 links of the causal chain: 1" in " ".join(text.split())


def test_a_mode_that_was_not_checked_is_no_finding_and_does_not_read_as_a_fact(unknown, not_checked):
    verdicts = {**unknown.verdicts, not_checked.mode: Verdict.UNKNOWN}
    text = " ".join(shown(replace(unknown, verdicts=verdicts, findings=(not_checked, *unknown.findings))).split())

    assert "2 failure modes: 2 UNKNOWN (1 not checked)" in text
    assert "Consumers crashed" not in text
    assert f"UNKNOWN Not decided: {unknown.findings[0].title}" in text
    assert text.index("Not decided") < text.index("Not checked")
    assert "? leaderless_partition The capture holds no line of a Kafka consumer." in text
    assert "To find out: leadsman diagnose FOLDER_WITH_THE_LOGS_OF_THE_CONSUMERS" in text


def test_several_captures_end_with_what_was_found_in_which(present, unknown, absent):
    text = " ".join(shown(present, unknown, absent).split())
    overview = text[text.rindex("3 captures") :]

    assert f"PRESENT {present.path} · {present.findings[0].title}" in overview
    assert f"UNKNOWN {unknown.path} · Not decided: {unknown.findings[0].title}" in overview
    assert f"ABSENT {absent.path} · 2 failure modes: 2 ABSENT" in overview


def test_of_several_clusters_each_has_its_own_heading(present, unknown):
    text = shown(replace(present, cluster="east"), replace(unknown, cluster="west"))

    assert f"{present.path} (cluster east)\n" in text
    assert f"{unknown.path} (cluster west)\n" in text


def test_verdicts_of_the_other_modes_stand_in_one_sentence(present):
    text = " ".join(shown(present).split())

    assert "Other modes: producer_id_leak ABSENT, leaderless_partition ABSENT, stale_neighbour UNKNOWN" in text


def test_a_mode_that_is_absent_despite_its_symptom_has_a_reason_and_is_not_repeated(present):
    explained = replace(present, absent_reasons={"producer_id_leak": ("A burst that is over.", "b", "c", "d")})

    text = " ".join(shown(explained).split())

    assert "ABSENT producer_id_leak, although its symptom was observed, because: · A burst that is over." in text
    assert "1 more reason" in text
    assert "Other modes: leaderless_partition ABSENT, stale_neighbour UNKNOWN" in text


def test_no_finding_is_ever_a_percentage(present, unknown, absent):
    text = shown(present, unknown, absent)

    assert "%" not in text.replace("%6|", "")


@pytest.mark.parametrize("width", [40, 80, 132])
def test_quoted_lines_keep_to_the_width_of_the_terminal(width, present):
    lines = shown(present, width=width).splitlines()

    quoted = [line for line in lines if line.lstrip().startswith("│")]
    assert len(quoted) > 6
    assert max(cell_len(line) for line in quoted) <= width


def test_a_line_that_is_too_long_ends_in_an_ellipsis_and_is_whole_in_a_pipe(present):
    line = present.findings[0].chain[2].evidence[0].text

    assert line not in shown(present, width=60)
    assert re.search(r"│ .*…\n", shown(present, width=60))
    assert line in shown(present, terminal=False)


def test_the_rows_of_a_quote_join_to_the_line_itself(present):
    rows = [line.split("│ ")[1] for line in shown(present, width=90).splitlines() if "│ " in line]

    assert present.findings[0].chain[2].evidence[0].text in "".join(rows)


def test_a_hostile_line_is_shown_and_cannot_act(hostile):
    text = shown(hostile)

    assert set(re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", text)) == set()
    assert "\\x1b[31mERROR" in text
    assert "[bold red]markup[/]" in text


def test_a_hostile_line_changes_no_colour_on_a_terminal(hostile):
    text = shown(hostile, color="standard")

    assert re.sub(r"\x1b\[[0-9;]*m", "", text).count(ESCAPE) == 0
    assert "\x1b[31mERROR" not in text


def test_a_terminal_without_unicode_gets_ascii(present, hostile):
    text = shown(present, hostile, encoding="ascii")

    assert text.isascii()
    assert "1. + The worker was quiet" in text
    assert "..." in text


def test_a_pipe_gets_no_colours(present):
    assert ESCAPE not in shown(present, terminal=False)


@pytest.mark.parametrize(("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_are_for_terminals_unless_no_color_is_set(environment, coloured, absent):
    master, slave = pty.openpty()
    with os.fdopen(slave, "w", encoding="utf-8") as stream:
        show_diagnoses([absent], Console(file=stream, _environ={"TERM": "xterm-256color", **environment}))
    text = b"".join(_until_hung_up(master)).decode()

    assert ("\x1b[1;32m" in text) is coloured


def _until_hung_up(terminal: int) -> Iterator[bytes]:
    """Yield what came through a terminal: the kernel hands it over bit by bit, and then an error for an end."""
    with contextlib.suppress(OSError):
        while piece := os.read(terminal, 65_536):
            yield piece
    os.close(terminal)


def test_a_clean_capture_takes_few_lines(absent):
    lines = shown(absent).splitlines()

    assert "2 failure modes: 2 ABSENT" in lines[3]
    assert len(lines) < 12


def test_items_that_were_not_collected_are_named_with_the_reason(absent):
    missing = tuple(NotCollectedItem(f"jvm/{n}/heap.txt", "It is another user's", "jcmd") for n in range(7))

    text = shown(replace(absent, not_collected=missing))

    assert "Not collected: 7 items" in text
    assert "jvm/0/heap.txt: It is another user's" in text
    assert "2 more" in text


def test_files_that_were_not_understood_are_counted_and_the_first_are_named(absent):
    parts = tuple(NotUnderstood(f"dump-{n}", "binary") for n in range(40))

    text = shown(replace(absent, not_understood=parts))

    assert "Not understood: 40 files" in text
    assert "dump-4: binary" in text
    assert "dump-5" not in text
    assert "35 more" in text


def test_harmless_lines_of_one_kind_are_counted_together_in_one_sentence(absent):
    example = Evidence(file="a.log", line=1, text="closed")
    groups = tuple(
        ErrorGroup(kind="Connection closed", count=number, example=example, why="The client opens another one.")
        for number in (9, 2)
    )

    text = shown(replace(absent, benign=groups))

    sentence = " ".join(text.split()).partition("Harmless: ")[2]
    assert sentence.startswith("11 ")
    assert sentence.count("The client opens another one.") == 1
