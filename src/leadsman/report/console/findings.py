"""Shows findings on a terminal: one section for each finding, then other errors, and input that was not understood."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.console import Console

from leadsman.model import State, Verdict
from leadsman.report.charts.matrix import NO_DATA, matrix_grid, outcome_counts
from leadsman.report.console.changes import location, show_change_list
from leadsman.report.console.terminal import Terminal
from leadsman.report.text import conditions
from leadsman.report.text.findings import (
    SEVERITY_KEY,
    alternative_state,
    alternative_text,
    amount_read,
    certainty,
    checked_findings,
    count_text,
    diagnosis_titles,
    finding_title,
    headline,
    next_heading,
    next_step,
    other_verdicts,
    severity_text,
    subject_rows,
    unchecked_findings,
    worst_verdict,
)
from leadsman.words import count, span

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from leadsman.model import (
        AlternativeFinding,
        Cure,
        Diagnosis,
        ErrorGroup,
        Evidence,
        Finding,
        LinkFinding,
        Matrix,
    )
    from leadsman.model.condition import Condition
    from leadsman.report.charts.matrix import MatrixGrid

QUOTE_ROWS = (5, 1)
"""Rows for the first and the second quoted line of a link: at 80 columns the message of a Java log line begins on the
third row. The page and the JSON hold every line."""

CELLS_SHOWN = (8, 4)
"""Rows and columns of a matrix that fit on a terminal."""

CONDITIONS_SHOWN, CONDITIONS_QUOTED = 6, 4
"""Six conditions and four quoted lines make ten lines, which can be read at a glance."""

CHANGES_SHOWN = 5
SUBJECTS_NAMED = 4
GROUPS_SHOWN = 10
REASONS_SHOWN = 3
FILES_NAMED = 5
FINDINGS_NAMED = 3

VERDICT_STYLE = {Verdict.PRESENT: "bold red", Verdict.UNKNOWN: "bold yellow", Verdict.ABSENT: "bold green"}
SEVERITY_STYLE = {"fatal": "red", "lost": "yellow"}
STATE_STYLE = {State.OBSERVED: "green", State.CONTRADICTED: "red", State.NOT_VISIBLE: "yellow"}


def show_diagnoses(diagnoses: Iterable[Diagnosis], console: Console | None = None) -> None:
    """Print all diagnoses. The default console is standard output, with colours if standard output is a terminal."""
    terminal = Terminal(console or Console(highlight=False))
    listed = list(diagnoses)
    titles = diagnosis_titles(listed)
    for title, diagnosis in zip(titles, listed, strict=True):
        _show_capture(terminal, title, diagnosis)
    if len(listed) > 1:
        _show_overview(terminal, dict(zip(titles, listed, strict=True)))


def _show_overview(terminal: Terminal, captures: Mapping[str, Diagnosis]) -> None:
    """Say what was found in which capture: of several, the first ones are far above by now."""
    terminal.rule()
    terminal.paragraph((count(len(captures), "capture captures"), "bold"))
    for title, diagnosis in captures.items():
        verdict = worst_verdict(diagnosis)
        terminal.item((verdict, VERDICT_STYLE[verdict]), title, indent=2)
        named = [finding_title(each) for each in checked_findings(diagnosis)[:FINDINGS_NAMED]]
        for text in named or [headline(diagnosis)]:
            terminal.item((terminal.symbols.dot, "dim"), text, indent=6)
    terminal.blank()


def _show_capture(terminal: Terminal, title: str, diagnosis: Diagnosis) -> None:
    terminal.rule()
    terminal.paragraph((title, "bold"))
    time_range = span(diagnosis.since, diagnosis.until) or "no line carries a time"
    terminal.paragraph((f"{amount_read(diagnosis)}; {time_range}", "dim"))
    terminal.paragraph((headline(diagnosis), "bold"))
    _show_conditions(terminal, diagnosis.conditions)
    for finding in checked_findings(diagnosis):
        _show_finding(terminal, finding)
    terminal.blank()
    _show_absent_reasons(terminal, diagnosis)
    _show_unchecked(terminal, unchecked_findings(diagnosis))
    _show_other_verdicts(terminal, diagnosis)
    _show_benign(terminal, diagnosis.benign)
    _show_unexplained(terminal, diagnosis.unexplained)
    _show_not_read(terminal, diagnosis)
    terminal.blank()


def _show_conditions(terminal: Terminal, listed: Sequence[Condition]) -> None:
    if not listed:
        return
    terminal.blank()
    terminal.paragraph(("Conditions", "bold"), (f"  {conditions.summary(listed)}", "dim"))
    for number, condition in enumerate(listed[:CONDITIONS_SHOWN]):
        mark = (terminal.symbols.no, "red") if condition.ongoing else (terminal.symbols.dot, "yellow")
        facts = (conditions.subjects_text(condition, SUBJECTS_NAMED), conditions.time_text(condition))
        aside = " · ".join(filter(None, facts))
        terminal.item(mark, (condition.title, "bold"), (f"  {aside}" if aside else "", "dim"), indent=2)
        if number < CONDITIONS_QUOTED and condition.evidence:
            line = condition.evidence[0]
            terminal.location_and_quote(f"{line.file}:{line.line}", line.text, indent=4)
    terminal.omitted(len(listed) - CONDITIONS_SHOWN, "more condition|more conditions")


def _show_finding(terminal: Terminal, finding: Finding) -> None:
    terminal.blank()
    terminal.paragraph((finding.verdict, VERDICT_STYLE[finding.verdict]), "  ", (finding_title(finding), "bold"))
    terminal.paragraph(finding.summary, indent=2)
    if finding.impact:
        terminal.paragraph(("Impact: ", "bold"), finding.impact, indent=2)
    for label, names in subject_rows(finding, SUBJECTS_NAMED):
        terminal.paragraph((f"{label}: ", "dim"), names, indent=2)
    _show_steps(terminal, finding.do_now)
    _show_chain(terminal, finding)
    _show_changes_at_onset(terminal, finding)
    _show_matrix(terminal, finding.matrix)
    _show_alternatives(terminal, finding.alternatives)
    _show_cures(terminal, finding.cure)
    _show_next(terminal, finding)


def _show_heading(terminal: Terminal, title: str, aside: str = "") -> None:
    terminal.blank()
    terminal.paragraph((title, "bold"), (f"  {aside}" if aside else "", "dim"), indent=2)


def _show_chain(terminal: Terminal, finding: Finding) -> None:
    if finding.chain:
        _show_heading(terminal, "From cause to symptom", certainty(finding))
    quoted: set[Evidence] = set()
    for number, link in enumerate(finding.chain, start=1):
        _show_link(terminal, number, link)
        _show_quotes(terminal, link.evidence, quoted)
        quoted.update(link.evidence[: len(QUOTE_ROWS)])


def _show_link(terminal: Terminal, number: int, link: LinkFinding) -> None:
    marks = terminal.symbols
    mark = {State.OBSERVED: marks.yes, State.CONTRADICTED: marks.no, State.NOT_VISIBLE: marks.unclear}[link.state]
    style = STATE_STYLE[link.state]
    terminal.item((f"{number}. {mark}", style), link.claim, " ", (f"({link.state})", style), indent=2)
    if link.explanation:
        terminal.paragraph(link.explanation, indent=7)


def _show_quotes(terminal: Terminal, lines: Sequence[Evidence], quoted: Collection[Evidence]) -> None:
    for rows, evidence in zip(QUOTE_ROWS, lines, strict=False):
        if evidence in quoted:
            terminal.verbatim(f"{location(evidence)}  (quoted above)", indent=7, style="cyan")
        else:
            _show_evidence(terminal, evidence, rows)
    terminal.omitted(len(lines) - len(QUOTE_ROWS), "more line of evidence|more lines of evidence")


def _show_evidence(terminal: Terminal, evidence: Evidence, rows: int) -> None:
    terminal.verbatim(location(evidence), indent=7, style="cyan")
    terminal.quote(evidence.text, indent=7, rows=rows)


def _show_matrix(terminal: Terminal, matrix: Matrix | None) -> None:
    if matrix is None:
        return
    grid = matrix_grid(matrix, *CELLS_SHOWN)
    _show_heading(terminal, matrix.axes.title, f"pairs by outcome: {outcome_counts(matrix)}")
    styled = [
        [(cell.outcome, "red" if cell.is_harm else "") if cell else NO_DATA for cell in row] for row in grid.cells
    ]
    rows = [(name, *cells) for name, cells in zip(grid.rows, styled, strict=True)]
    head = (matrix.axes.row, *grid.columns)
    if terminal.grid_fits(head, rows, indent=5):
        terminal.grid(head, rows, indent=5)
    else:
        _show_pairs(terminal, grid)
    if grid.omitted:
        terminal.paragraph((f"{terminal.symbols.ellipsis} {grid.omitted}", "dim"), indent=5)


def _show_pairs(terminal: Terminal, grid: MatrixGrid) -> None:
    """Print a matrix pair by pair, where the terminal is too narrow for the names beside each other."""
    for name, cells in zip(grid.rows, grid.cells, strict=True):
        for column, cell in zip(grid.columns, cells, strict=True):
            if cell:
                outcome = (cell.outcome, "red" if cell.is_harm else "")
                terminal.item(terminal.symbols.dot, f"{name} -> {column}: ", outcome, indent=5)


def _show_changes_at_onset(terminal: Terminal, finding: Finding) -> None:
    if finding.changes:
        _show_heading(terminal, "Changes when it began")
    show_change_list(terminal, finding.changes[:CHANGES_SHOWN])
    terminal.omitted(len(finding.changes) - CHANGES_SHOWN, "more change|more changes")


def _show_alternatives(terminal: Terminal, alternatives: Sequence[AlternativeFinding]) -> None:
    if alternatives:
        _show_heading(terminal, "Alternative causes")
    for alternative in alternatives:
        is_open = alternative.ruled_out_by is None
        mark = (terminal.symbols.unclear, "yellow") if is_open else (terminal.symbols.no, "green")
        state = f"({alternative_state(alternative)})"
        terminal.item(mark, alternative.cause, " ", (state, mark[1]), " ", alternative_text(alternative), indent=2)


def _show_steps(terminal: Terminal, steps: Sequence[str]) -> None:
    if steps:
        _show_heading(terminal, "Do now")
    for number, step in enumerate(steps, start=1):
        terminal.item(f"{number}.", step, indent=2)


def _show_cures(terminal: Terminal, cures: Sequence[Cure]) -> None:
    if cures:
        _show_heading(terminal, "Cure")
    for number, cure in enumerate(cures, start=1):
        terminal.item(f"{number}.", (f"{cure.title}. ", "bold"), cure.why, indent=2)
        for setting in cure.settings.splitlines():
            terminal.verbatim(setting, indent=7, style="green")


def _show_next(terminal: Terminal, finding: Finding) -> None:
    prose, command = next_step(finding)
    if finding.next:
        _show_heading(terminal, next_heading(finding))
    if prose:
        terminal.paragraph(prose, indent=5)
    if command:
        terminal.verbatim(command, indent=5, style="bold")


def _show_absent_reasons(terminal: Terminal, diagnosis: Diagnosis) -> None:
    for mode, reasons in diagnosis.absent_reasons.items():
        absent = (Verdict.ABSENT, VERDICT_STYLE[Verdict.ABSENT])
        terminal.paragraph(absent, "  ", (mode, "bold"), ", although its symptom was observed, because:")
        for reason in reasons[:REASONS_SHOWN]:
            terminal.item((terminal.symbols.dot, "dim"), reason, indent=2)
        terminal.omitted(len(reasons) - REASONS_SHOWN, "more reason|more reasons")
        terminal.blank()


def _show_unchecked(terminal: Terminal, unchecked: Mapping[str, Finding]) -> None:
    if not unchecked:
        return
    unknown = (Verdict.UNKNOWN, VERDICT_STYLE[Verdict.UNKNOWN])
    nouns = "this failure mode" if len(unchecked) == 1 else "these failure modes"
    terminal.paragraph(unknown, ("  Not checked", "bold"), ": the capture holds no data that could show", f" {nouns}.")
    for mode, finding in unchecked.items():
        mark = (terminal.symbols.unclear, "yellow")
        terminal.item(mark, (mode, "bold"), f"  {finding.summary}", indent=2)
        terminal.paragraph(("To find out: ", "bold"), finding.next, indent=4)
    terminal.blank()


def _show_other_verdicts(terminal: Terminal, diagnosis: Diagnosis) -> None:
    verdicts = other_verdicts(diagnosis)
    if not verdicts:
        return
    parts = [
        part for mode, verdict in verdicts.items() for part in (f" {mode} ", (verdict, VERDICT_STYLE[verdict]), ",")
    ]
    terminal.paragraph(("Other modes:" if diagnosis.findings else "Modes:", "bold"), *parts[:-1])


def _show_benign(terminal: Terminal, groups: Sequence[ErrorGroup]) -> None:
    numbers: Counter[tuple[str, str]] = Counter()
    for group in groups:
        numbers[group.kind, group.why.rstrip(".")] += group.count
    if numbers:
        times = terminal.symbols.times
        texts = (f"{count(number)} {times} {kind}: {why}" for (kind, why), number in numbers.items())
        terminal.paragraph(("Harmless: ", "bold"), "; ".join(texts), ".")


def _show_unexplained(terminal: Terminal, groups: Sequence[ErrorGroup]) -> None:
    if not groups:
        return
    terminal.blank()
    terminal.paragraph(("Other errors", "bold"), (f"  No finding explains them. {SEVERITY_KEY}.", "dim"))
    for group in groups[:GROUPS_SHOWN]:
        terminal.item(
            terminal.symbols.dot,
            count_text(group, terminal.symbols.times),
            (f"  {severity_text(group)}", SEVERITY_STYLE.get(group.severity, "dim")),
            (f"  {span(group.first, group.last)}", "dim"),
            indent=2,
        )  # fmt: skip - one item, one line
        _show_evidence(terminal, group.example, 2)
    terminal.omitted(len(groups) - GROUPS_SHOWN, "more kind|more kinds")


def _show_not_read(terminal: Terminal, diagnosis: Diagnosis) -> None:
    parts = diagnosis.not_understood
    if parts:
        terminal.blank()
        terminal.paragraph(
            ("Not understood: ", "bold"), count(len(parts), "file or part of one|files or parts of files")
        )
    for part in parts[:FILES_NAMED]:
        terminal.item(terminal.symbols.dot, f"{part.file}: {part.why}", indent=2)
    terminal.omitted(len(parts) - FILES_NAMED, "more|more")
    if diagnosis.not_collected:
        terminal.blank()
        terminal.paragraph(("Not collected: ", "bold"), count(len(diagnosis.not_collected), "item|items"))
    for item in diagnosis.not_collected[:FILES_NAMED]:
        terminal.item(terminal.symbols.dot, f"{item.what}: {item.why}", indent=2)
    terminal.omitted(len(diagnosis.not_collected) - FILES_NAMED, "more|more")
    for note in diagnosis.notes:
        terminal.paragraph(("Note: ", "bold"), note)
