"""Shows findings on a terminal: one screen each, then what else was seen and what was not understood."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from leadsman.model import State, Verdict
from leadsman.report import conditions
from leadsman.report.changes import noun, sentence, silences
from leadsman.report.grid import NO_DATA, grid, tally
from leadsman.report.outline import (
    about,
    group_amount,
    group_standing,
    headline,
    next_step,
    rest,
    subject_rows,
    sureness,
    titles,
    what_was_read,
)
from leadsman.report.screen import Screen
from leadsman.words import clock, count, span

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from leadsman.condition import Condition
    from leadsman.model import (
        Change,
        Changes,
        Cure,
        Diagnosis,
        ErrorGroup,
        Evidence,
        Finding,
        LinkFinding,
        Matrix,
        RivalFinding,
    )

ROWS_OF_A_QUOTE = (5, 1)
"""Two lines are quoted for each link, the first on up to five rows: at 80 columns the message of a Java line begins on
the third. The page and the JSON hold every line."""

CELLS_SHOWN = (8, 4)
"""Rows and columns of a matrix that a terminal has room for."""

CONDITIONS_SHOWN, CONDITIONS_QUOTED = 6, 4
"""Ten lines in all: what is wrong must be read at a glance."""

CHANGES_SHOWN = 5
SUBJECTS_NAMED = 4
GROUPS_SHOWN = 10
FILES_NAMED = 5

VERDICT_STYLE = {Verdict.PRESENT: "bold red", Verdict.UNKNOWN: "bold yellow", Verdict.ABSENT: "bold green"}
SEVERITY_STYLE = {"fatal": "red", "lost": "yellow"}
STATE_STYLE = {State.OBSERVED: "green", State.CONTRADICTED: "red", State.NOT_VISIBLE: "yellow"}


def show(diagnoses: Iterable[Diagnosis], console: Console | None = None) -> None:
    """Print all that was concluded. The default console is standard output, with colours if that is a terminal."""
    screen = Screen(console or Console(highlight=False))
    listed = list(diagnoses)
    for title, diagnosis in zip(titles(listed), listed, strict=True):
        _capture(screen, title, diagnosis)


def show_changes(changes: Changes, sides: Mapping[str, str], *, limit: int, console: Console | None = None) -> None:
    """Print what changed, most telling first, and what could not be compared."""
    screen = Screen(console or Console(highlight=False))
    screen.rule()
    if "capture" in sides:
        screen.say((sides["capture"], "bold"))
    screen.say(("before: ", "dim"), sides["before"], ("   after: ", "dim"), sides["after"])
    compared = ", ".join(map(noun, changes.compared)) or "nothing"
    screen.say((f"{count(len(changes.changes), 'change changes')}", "bold"), (f"  compared: {compared}", "dim"))
    screen.blank()
    _changed(screen, changes.changes[:limit])
    _left_out(screen, changes.changes, limit, "more change|more changes")
    for silence in silences(changes):
        screen.say(("Not comparable: ", "bold yellow"), silence, ".")
    screen.blank()


def _changed(screen: Screen, changes: Sequence[Change]) -> None:
    for number, change in enumerate(changes, start=1):
        screen.item(f"{number}.", sentence(change), indent=2)
        if change.evidence:
            screen.verbatim(_where(change.evidence), indent=7, style="cyan")


def _capture(screen: Screen, title: str, diagnosis: Diagnosis) -> None:
    screen.rule()
    screen.say((title, "bold"))
    when = span(diagnosis.since, diagnosis.until) or "no times in it"
    screen.say((f"{what_was_read(diagnosis)}; {when}", "dim"))
    screen.say((headline(diagnosis), "bold"))
    _conditions(screen, diagnosis.conditions)
    for finding in diagnosis.findings:
        _finding(screen, finding)
    screen.blank()
    _rest(screen, diagnosis)
    _harmless(screen, diagnosis.benign)
    _unexplained(screen, diagnosis.unexplained)
    _unread(screen, diagnosis)
    screen.blank()


def _conditions(screen: Screen, found: Sequence[Condition]) -> None:
    if not found:
        return
    screen.blank()
    screen.say(("Conditions", "bold"), (f"  {conditions.tally(found)}", "dim"))
    for number, condition in enumerate(found[:CONDITIONS_SHOWN]):
        mark = (screen.marks.no, "red") if condition.stands else (screen.marks.dot, "yellow")
        said = " · ".join(filter(None, (conditions.who(condition, SUBJECTS_NAMED), conditions.when(condition))))
        screen.item(mark, (condition.title, "bold"), (f"  {said}" if said else "", "dim"), indent=2)
        if number < CONDITIONS_QUOTED and condition.evidence:
            line = condition.evidence[0]
            screen.place_and_quote(f"{line.file}:{line.line}", line.text, indent=4)
    _left_out(screen, found, CONDITIONS_SHOWN, "more condition|more conditions")


def _finding(screen: Screen, finding: Finding) -> None:
    screen.blank()
    screen.say((finding.verdict, VERDICT_STYLE[finding.verdict]), "  ", (finding.title, "bold"))
    screen.say(finding.summary, indent=2)
    if finding.impact:
        screen.say(("Impact: ", "bold"), finding.impact, indent=2)
    for label, names in subject_rows(finding, SUBJECTS_NAMED):
        screen.say((f"{label}: ", "dim"), names, indent=2)
    _do_now(screen, finding.do_now)
    _chain(screen, finding)
    _around(screen, finding)
    _matrix(screen, finding.matrix)
    _rivals(screen, finding.rivals)
    _cure(screen, finding.cure)
    _next(screen, finding)


def _heading(screen: Screen, title: str, aside: str = "") -> None:
    screen.blank()
    screen.say((title, "bold"), (f"  {aside}" if aside else "", "dim"), indent=2)


def _chain(screen: Screen, finding: Finding) -> None:
    if finding.chain:
        _heading(screen, "Why", sureness(finding))
    quoted: set[Evidence] = set()
    for number, link in enumerate(finding.chain, start=1):
        _link(screen, number, link)
        _quotes(screen, link.evidence, quoted)
        quoted.update(link.evidence[: len(ROWS_OF_A_QUOTE)])


def _link(screen: Screen, number: int, link: LinkFinding) -> None:
    marks = screen.marks
    mark = {State.OBSERVED: marks.yes, State.CONTRADICTED: marks.no, State.NOT_VISIBLE: marks.unclear}[link.state]
    style = STATE_STYLE[link.state]
    screen.item((f"{number}. {mark}", style), link.claim, " ", (f"({link.state})", style), indent=2)
    if link.says:
        screen.say(link.says, indent=7)


def _quotes(screen: Screen, lines: Sequence[Evidence], quoted: Collection[Evidence]) -> None:
    for rows, evidence in zip(ROWS_OF_A_QUOTE, lines, strict=False):
        if evidence in quoted:
            screen.verbatim(f"{_where(evidence)}  (quoted above)", indent=7, style="cyan")
        else:
            _evidence(screen, evidence, rows)
    _left_out(screen, lines, len(ROWS_OF_A_QUOTE), "more line of evidence|more lines of evidence")


def _evidence(screen: Screen, evidence: Evidence, rows: int) -> None:
    screen.verbatim(_where(evidence), indent=7, style="cyan")
    screen.quote(evidence.text, indent=7, rows=rows)


def _where(evidence: Evidence) -> str:
    when = f"  {clock(evidence.time)}" if evidence.time else ""
    return f"{evidence.file}:{evidence.line}{when}"


def _left_out(screen: Screen, things: Sequence[object], shown: int, nouns: str) -> None:
    if len(things) > shown:
        screen.say((f"{screen.marks.ellipsis} {count(len(things) - shown, nouns)}", "dim"), indent=7)


def _matrix(screen: Screen, matrix: Matrix | None) -> None:
    if matrix is None:
        return
    chosen = grid(matrix, *CELLS_SHOWN)
    _heading(screen, matrix.axes.title, tally(matrix))
    styled = [
        [(cell.outcome, "red" if cell.trouble else "") if cell else NO_DATA for cell in row] for row in chosen.cells
    ]
    rows = [(name, *cells) for name, cells in zip(chosen.rows, styled, strict=True)]
    screen.grid((matrix.axes.row, *chosen.columns), rows, indent=5)
    if chosen.left_out:
        screen.say((f"{screen.marks.ellipsis} {chosen.left_out}", "dim"), indent=5)


def _around(screen: Screen, finding: Finding) -> None:
    if finding.changes:
        _heading(screen, "What changed when it began")
    _changed(screen, finding.changes[:CHANGES_SHOWN])
    _left_out(screen, finding.changes, CHANGES_SHOWN, "more change|more changes")


def _rivals(screen: Screen, rivals: Sequence[RivalFinding]) -> None:
    if rivals:
        _heading(screen, "What else it could be")
    for rival in rivals:
        open_yet = rival.ruled_out_by is None
        mark = (screen.marks.unclear, "yellow") if open_yet else (screen.marks.no, "green")
        state = "not ruled out" if open_yet else "ruled out"
        screen.item(mark, rival.cause, " ", (f"({state})", mark[1]), " ", about(rival), indent=2)


def _do_now(screen: Screen, steps: Sequence[str]) -> None:
    if steps:
        _heading(screen, "Do now")
    for number, step in enumerate(steps, start=1):
        screen.item(f"{number}.", step, indent=2)


def _cure(screen: Screen, cures: Sequence[Cure]) -> None:
    if cures:
        _heading(screen, "Cure")
    for number, cure in enumerate(cures, start=1):
        screen.item(f"{number}.", (f"{cure.title}. ", "bold"), cure.why, indent=2)
        for setting in cure.settings.splitlines():
            screen.verbatim(setting, indent=7, style="green")


def _next(screen: Screen, finding: Finding) -> None:
    prose, command = next_step(finding)
    if finding.next and not finding.chain:  # nothing was read that could tell: what would is all there is to say
        screen.say(("To know: ", "bold"), " ".join(filter(None, (prose, command))), indent=2)
        return
    if finding.next:
        _heading(screen, "Next")
    if prose:
        screen.say(prose, indent=5)
    if command:
        screen.verbatim(command, indent=5, style="bold")


def _rest(screen: Screen, diagnosis: Diagnosis) -> None:
    verdicts = rest(diagnosis)
    if not verdicts:
        return
    parts = [
        part for mode, verdict in verdicts.items() for part in (f" {mode} ", (verdict, VERDICT_STYLE[verdict]), ",")
    ]
    screen.say(("Other modes:" if diagnosis.findings else "Modes:", "bold"), *parts[:-1])


def _harmless(screen: Screen, groups: Sequence[ErrorGroup]) -> None:
    if groups:
        said = "; ".join(f"{group_amount(group, screen.marks.times)}: {group.why}" for group in groups)
        screen.say(("Harmless: ", "bold"), said)


def _unexplained(screen: Screen, groups: Sequence[ErrorGroup]) -> None:
    if not groups:
        return
    screen.blank()
    screen.say(("Errors that no finding explains", "bold"))
    for group in groups[:GROUPS_SHOWN]:
        screen.item(
            screen.marks.dot,
            group_amount(group, screen.marks.times),
            (f"  {group_standing(group)}", SEVERITY_STYLE.get(group.severity, "dim")),
            (f"  {span(group.first, group.last)}", "dim"),
            indent=2,
        )  # fmt: skip - one item, one line
        _evidence(screen, group.example, 2)
    _left_out(screen, groups, GROUPS_SHOWN, "more kind|more kinds")


def _unread(screen: Screen, diagnosis: Diagnosis) -> None:
    parts = diagnosis.not_understood
    if parts:
        screen.blank()
        screen.say(("Not understood: ", "bold"), count(len(parts), "file or part of one|files or parts of files"))
    for part in parts[:FILES_NAMED]:
        screen.item(screen.marks.dot, f"{part.file}: {part.why}", indent=2)
    _left_out(screen, parts, FILES_NAMED, "more|more")
    if diagnosis.missing:
        screen.blank()
        screen.say(("Could not be had: ", "bold"), count(len(diagnosis.missing), "item|items"))
    for item in diagnosis.missing[:FILES_NAMED]:
        screen.item(screen.marks.dot, f"{item.what}: {item.why}", indent=2)
    _left_out(screen, diagnosis.missing, FILES_NAMED, "more|more")
    for note in diagnosis.notes:
        screen.say(("Note: ", "bold"), note)
