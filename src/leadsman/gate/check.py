"""Runs the rules over files. A file that cannot be read, or on which a rule fails, costs itself only."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from leadsman.errors import LeadsmanError
from leadsman.gate.reader import UnreadableFile, reader_of
from leadsman.gate.rule import Violation
from leadsman.gate.sources import Unreadable, could_matter, facts_of, list_sources, read_source, refuse_if_large
from leadsman.gate.suppressions import ignored_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from leadsman.gate.code.syntax import Span
    from leadsman.gate.facts import Facts, Match
    from leadsman.gate.rule import ModeRule

MANY = 80
"""Files with a trace of Kafka from which on a second process is faster: starting it takes as long as 40 files."""

CHUNK = 16
"""Files that a process takes at a time: few enough that no process has the last large chunk alone."""


@dataclass(slots=True)
class Report:
    """What a check found. `files` were listed, `checked` mention Kafka. `ignored`: violations with a comment."""

    violations: list[Violation] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    files: int = 0
    checked: int = 0
    ignored: int = 0
    rules: Sequence[ModeRule] = ()

    def add(self, other: Report) -> None:
        """Add the results of another part of the files."""
        self.violations += other.violations
        self.unreadable += other.unreadable
        self.checked += other.checked
        self.ignored += other.ignored


def check(
    paths: Iterable[str], rules: Sequence[ModeRule], *, with_tests: bool = False, processes: int | None = None
) -> Report:
    """Check all files below the paths. UsageError for a path that does not exist."""
    listing = list_sources(paths, with_tests=with_tests)
    report = Report(unreadable=listing.unreadable, files=len(listing.files), rules=rules)
    count = processes or len(os.sched_getaffinity(0))
    for part in _parts(listing.files, rules, count):
        report.add(part)
    report.violations.sort(key=lambda each: (each.path, each.span, each.rule))
    return report


def _parts(files: list[str], rules: Sequence[ModeRule], processes: int) -> Iterator[Report]:
    """Check the files here, or in several processes from `MANY` files on."""
    if processes < 2 or len(files) < MANY:  # noqa: PLR2004 - one process is this one
        yield check_files(files, rules)
        return
    import multiprocessing  # only for many files: loading takes as long as checking ten
    from concurrent.futures import ProcessPoolExecutor

    chunks = [files[start : start + CHUNK] for start in range(0, len(files), CHUNK)]
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        yield from pool.map(check_files, chunks, [rules] * len(chunks))


def check_files(files: Iterable[str], rules: Sequence[ModeRule]) -> Report:
    """Check files one after the other."""
    report = Report()
    for path in files:
        report.add(_report_or_error(path, partial(check_file, path, rules)))
    return report


def check_text(path: str, text: str, rules: Sequence[ModeRule]) -> Report:
    """Check a text that is, or will be, the file at this path."""

    def checked() -> Report:
        reader, content = reader_of(path.rpartition("/")[2]), text.encode("utf-8", errors="replace")
        if reader is None or not could_matter(content):
            return Report()
        refuse_if_large(len(content))
        return check_facts(facts_of(path, text, reader), rules)

    return _report_or_error(path, checked)


def _report_or_error(path: str, checked: Callable[[], Report]) -> Report:
    try:
        return checked()
    except UnreadableFile as error:
        return Report(unreadable=[Unreadable(path, str(error))])
    except LeadsmanError:
        raise
    except Exception as error:  # noqa: BLE001 - a fault of a reader must not end the check of other files
        return Report(unreadable=[Unreadable(path, f"internal error: {type(error).__name__}: {error}")])


def check_file(path: str, rules: Sequence[ModeRule]) -> Report:
    """Check one file. Raises UnreadableFile."""
    source = read_source(path)
    if source is None:
        return Report()
    text, reader = source
    return check_facts(facts_of(path, text, reader), rules)


def check_facts(facts: Facts, rules: Sequence[ModeRule]) -> Report:
    """Apply the rules to a file's facts."""
    report = Report(checked=1)
    lines = facts.text.split("\n")
    ignored = ignored_rules(lines)
    for each in rules:
        try:
            matches = list(each.rule.find(facts))
        except Exception as error:  # noqa: BLE001 - a rule is a plug-in: its error must not end the check of other files
            report.unreadable.append(Unreadable(facts.path, f"rule {each.id} failed: {type(error).__name__}: {error}"))
            continue
        for match in dict.fromkeys(matches):  # an alias of YAML repeats its place
            if each.id in ignored.get(match.span.line, ()):
                report.ignored += 1
            else:
                report.violations.append(_violation(each, facts, match, lines))
    return report


IN_CHARACTERS = frozenset({"yaml", "properties", "kafka"})
"""Languages whose parsers count columns in characters; all others count bytes."""


def _in_characters(span: Span, facts: Facts, lines: list[str]) -> Span:
    """Return a place with columns in characters."""
    if facts.language in IN_CHARACTERS or facts.text.isascii():
        return span
    return span._replace(
        column=_character(lines, span.line, span.column), end_column=_character(lines, span.end_line, span.end_column)
    )


def _character(lines: list[str], line: int, column: int) -> int:
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    return len(text.encode("utf-8")[: column - 1].decode("utf-8", errors="ignore")) + 1


def _violation(each: ModeRule, facts: Facts, match: Match, lines: list[str]) -> Violation:
    line = match.span.line
    replaced = match.replacement_span
    return Violation(
        rule=each.id,
        mode=each.mode,
        incident=each.incident,
        path=facts.path,
        span=_in_characters(match.span, facts, lines),
        message=match.message,
        why=each.rule.why,
        fix=each.rule.fix,
        line_text=lines[line - 1].rstrip("\r") if 0 < line <= len(lines) else "",
        replacement=match.replacement,
        replacement_span=None if replaced is None else _in_characters(replaced, facts, lines),
    )
