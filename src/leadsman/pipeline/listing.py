"""What a diagnosis lists besides its findings: what was read, what was not, errors that nothing explains."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.model import Diagnosis, ErrorGroup, Evidence, Folded, Missing, NotUnderstood
from leadsman.pipeline.failures import is_same_moment, of_a_condition, one_a_failure
from leadsman.pipeline.severity import PLACE, Severity, kind_of, severity_of
from leadsman.pipeline.shapes import quoted, table
from leadsman.words import moment, span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, Row

    from leadsman.condition import Condition
    from leadsman.pipeline.question import Question

GROUPS_SHOWN = 50
"""Kinds of errors listed for one capture."""

PASSED_OVER = (names.SUBJECT_QUIET, names.SETTING, *names.LIFE)
"""Names of ordinary life: they are no errors, and their times are told by `SUBJECT_ACTIVE`."""

SPAN = (names.SUBJECT_ACTIVE, *(name for name in names.STATE if name != names.ITEM_MISSING))
"""Names that say from when to when a capture tells of anything: all of them together are one row."""

SAID_TWICE = (
    names.AUTHENTICATION_FAILED,
    names.AUTHORIZATION_FAILED,
    names.CERTIFICATE_REJECTED,
    names.NAME_UNRESOLVED,
    names.PRODUCER_FENCED,
    names.TLS_FAILED,
)
"""What clients say in several lines of one failure: they come one after another, and are counted once."""

AT_ONCE_MICROS = 20_000
"""A client writes the lines of one failure, stack traces among them, within a few milliseconds."""

STEPS = {
    "listed": f"""
        SELECT capture, subject, name, explained_by, at, struct(file, line, at, text, labels) AS example,
            coalesce(try_to_timestamp(labels['until']), at) AS until,
            CASE WHEN name IN ('{names.FILE_READ}', '{names.FILE_NOT_UNDERSTOOD}') THEN file
                WHEN name = '{names.ERRORS_UNLISTED}' THEN concat_ws(' ', file, line)
                WHEN name = '{names.ITEM_MISSING}' THEN concat_ws(' ', labels['what'], text)
                ELSE coalesce(labels['message'], labels['error'], source) END AS group,
            if(name IN ('{names.ERROR}', '{names.ERRORS_UNLISTED}', '{names.FILE_READ}'), value, 1D) AS count
        FROM events WHERE name NOT IN ({quoted(*PASSED_OVER, *SPAN)})
    """,
    "by_subject": f"""
        SELECT capture, name, group, explained_by, subject, sum(count) AS count, min(at) AS first, max(until) AS last,
            min_by(example, struct(at, example.file, example.line)) AS example,
            array_sort(collect_list(IF(name IN ({quoted(*SAID_TWICE)}), unix_micros(at), NULL))) AS times
        FROM listed GROUP BY capture, name, group, explained_by, subject
    """,
    "grouped": f"""
        SELECT capture, name, group, explained_by, min(first) AS first, max(last) AS last,
            sum(IF(size(times) > 0, count - size(filter(times, (at, n) -> n > 0 AND
                at - coalesce(get(times, n - 1), at) <= {AT_ONCE_MICROS})), count)) AS count,
            min_by(example, struct(first, example.file, example.line)) AS example
        FROM by_subject GROUP BY capture, name, group, explained_by
    """,
    "spans": f"""
        SELECT capture, '{names.SUBJECT_ACTIVE}' AS name, CAST(NULL AS STRING) AS group,
            CAST(NULL AS STRING) AS explained_by, CAST(count(*) AS DOUBLE) AS count, min(at) AS first,
            max(coalesce(if(name = '{names.SUBJECT_ACTIVE}', try_to_timestamp(labels['until']), NULL), at)) AS last,
            NULL AS example
        FROM events WHERE name IN ({quoted(*SPAN)}) GROUP BY capture
    """,
    "told": """
        SELECT capture, name, group, explained_by, count, first, last, example FROM grouped
        UNION ALL SELECT * FROM spans
    """,
}
"""Most rows of a large capture are in spans, and are counted without being sorted."""

UNRANKED = (
    names.ERRORS_UNLISTED,
    names.FILE_NOT_UNDERSTOOD,
    names.FILE_READ,
    names.ITEM_MISSING,
    names.SUBJECT_ACTIVE,
)
"""Names that are told otherwise than in the list of errors."""

LEAST_SPAN = timedelta(minutes=1)
"""A capture that spans less has no time before the incident that errors could be new against."""

APPLICATION = "application"
ACCESS_LOG = "access log"
BROKER = "broker"


def told_of(events: DataFrame) -> dict[str, list[Row]]:
    """Return what is listed besides findings, by capture: what was read, and errors with one example a group.

    `events` say in `explained_by` which mode's finding accounts for them.
    """
    told: dict[str, list[Row]] = {}
    for row in sorted(table({"events": events}, STEPS).collect(), key=_place):
        told.setdefault(row["capture"], []).append(row)
    return told


def _place(row: Row) -> tuple[str, str, str]:
    """Return a place that does not depend on the order in which Spark hands out rows."""
    return row["name"], row["group"] or "", row["explained_by"] or ""


def listing(
    told: Sequence[Row],
    *,
    benign: Mapping[str, str],
    incident: datetime | None = None,
    conditions: Sequence[Condition] = (),
) -> Diagnosis:
    """Return a diagnosis that holds only what is listed. `benign` gives the reason by event name.

    Errors that were first seen since the `incident` are novel; where none is known, since the middle of the capture;
    none where the capture tells of no time before.
    What the `conditions` are made of is not listed again.
    """
    files = _files(told)
    spans = [row for row in told if row["name"] in (names.SUBJECT_ACTIVE, names.ITEM_MISSING)]
    silent = {*benign, *UNRANKED}
    errors = [row for row in told if row["name"] not in silent and not row["explained_by"]]
    left = one_a_failure(errors)
    harmless = [row for row in told if row["name"] in benign and not any(is_same_moment(row, each) for each in errors)]
    unexplained = _groups(
        (row for row in left if not of_a_condition(row["name"], row["first"], row["last"], conditions)),
        {},
        _old_until(told, incident),
    )
    return Diagnosis(
        path="",
        verdicts={},
        unexplained=unexplained[:GROUPS_SHOWN],
        benign=_groups(harmless, benign)[:GROUPS_SHOWN],
        since=min((row["first"] for row in spans if row["first"]), default=None),
        until=last_time(told),
        files=len(files),
        bytes=sum(int(row["example"]["labels"]["bytes"]) for row in files),
        lines=int(sum(row["count"] for row in files)),
        sources=tuple(sorted({name for row in files for name in _sources(row["example"]["labels"])})),
        not_understood=tuple(
            NotUnderstood(row["example"]["file"], row["example"]["text"])
            for row in _named(told, names.FILE_NOT_UNDERSTOOD)
        ),
        missing=tuple(sorted(map(_missing, _named(told, names.ITEM_MISSING)), key=lambda each: (each.what, each.why))),
        notes=(*_further(unexplained[GROUPS_SHOWN:], _named(told, names.ERRORS_UNLISTED)), *_notes(files)),
    )


def _further(left_out: Sequence[ErrorGroup], unlisted: Sequence[Row]) -> Iterator[str]:
    """Say how many errors there are besides those that are listed. A kind may have been let go more than once."""
    kinds = len(left_out) + sum(int(row["example"]["labels"]["kinds"]) for row in unlisted)
    errors = sum(group.count for group in left_out) + sum(int(row["count"]) for row in unlisted)
    if kinds:
        yield (
            f"{'Up to ' if unlisted else ''}{kinds:,} further kinds of errors, {errors:,} errors in all, are not "
            f"listed. The {GROUPS_SHOWN} kinds that are did most harm, or are newest, or most frequent."
        )


def _old_until(told: Sequence[Row], incident: datetime | None) -> datetime | None:
    """Return the time since which an error is new: the incident's, or the middle; None where nothing lies before."""
    since = min((row["first"] for row in told if row["first"]), default=None)
    until = incident or last_time(told)
    if not since or not until or until - since < LEAST_SPAN:
        return None
    return incident or since + (until - since) / 2


def last_time(told: Iterable[Row]) -> datetime | None:
    """Return the last time of which a capture tells."""
    spans = (row for row in told if row["name"] in (names.SUBJECT_ACTIVE, names.ITEM_MISSING))
    return max((row["last"] for row in spans if row["last"]), default=None)


def folded(told: Sequence[Row], mode: str) -> tuple[Folded, ...]:
    """Return how many events of which name a mode's finding accounts for, most first."""
    counts: Counter[str] = Counter()
    for row in told:
        if row["explained_by"] == mode:
            counts[row["name"]] += int(row["count"])
    return tuple(Folded(name=name, count=count) for name, count in counts.most_common())


def visible_sources(files: Sequence[Mapping[str, str]]) -> set[str]:
    """Return what the files could show: sources, and what lines prove beside. `files` are the labels of those read.

    What a broker's log holds of client lines is the broker talking to its controller. A log with times whose writer no
    signature names is an application's, and would show its clients' errors.
    """
    named = [_sources(labels) for labels in files]
    seen = {name for each in named for name in ({BROKER} if BROKER in each else each)}
    for each, labels in zip(named, files, strict=True):
        seen |= set(labels.get("shows", "").split(",")) - {"", *({names.CONSUMER} if BROKER in each else ())}
    if any(not each and _is_application(labels) for each, labels in zip(named, files, strict=True)):
        seen.add(APPLICATION)
    return seen


def tells_of(labels: Mapping[str, str], question: Question) -> bool:
    """Say whether a file, given the labels of its reading, tells of the time asked for. Of one without times it may."""
    if "first" not in labels:
        return True
    first, last = (datetime.fromisoformat(labels[name]) for name in ("first", "last"))
    return (question.until is None or first <= question.until) and (question.since is None or last >= question.since)


def outside(told: Sequence[Row], question: Question) -> list[str]:
    """Say so where nothing that was read tells of the time asked for, and of which times it tells."""
    files = [row["example"]["labels"] for row in _files(told)]
    timed = [labels for labels in files if "first" in labels]
    if not timed or any(tells_of(labels, question) for labels in timed):
        return []
    bounds = {"--since": question.since, "--until": question.until}
    asked = " ".join(f"{option} {moment(bound)}" for option, bound in bounds.items() if bound)
    first, last = min(labels["first"] for labels in timed), max(labels["last"] for labels in timed)
    told_of = span(datetime.fromisoformat(first), datetime.fromisoformat(last))
    return [f"The capture holds nothing of the time asked for ({asked}). Its times are {told_of}."]


def _is_application(labels: Mapping[str, str]) -> bool:
    """Whether a file whose writer no signature names is an application's log; a web server's access log is none."""
    return labels["timed"] == "true" and labels["format"] != ACCESS_LOG


def _named(told: Iterable[Row], name: str) -> list[Row]:
    return [row for row in told if row["name"] == name]


def _files(told: Iterable[Row]) -> list[Row]:
    return _named(told, names.FILE_READ)


def _missing(row: Row) -> Missing:
    example = row["example"]
    labels = example["labels"]
    return Missing(labels.get("what") or example["file"], example["text"] or "", labels.get("command") or "")


def _sources(labels: Mapping[str, str]) -> set[str]:
    return set(labels["sources"].split(",")) - {""}


def _notes(files: Sequence[Row]) -> Iterator[str]:
    labels = [row["example"]["labels"] for row in files]
    if guessed := _having(labels, "zoned", "false"):
        yield f"{guessed} of {len(files)} files carry times without a zone; --timezone says which (default UTC)."
    if named := _having(labels, "dated_by", "name"):
        yield f"{named} of {len(files)} files hold no times of their own. The times in their names were used."
    if mixed := _having(labels, "order", "none"):
        yield (
            f"In {mixed} of {len(files)} files the times of the lines run back and forth. Lines were sorted by time "
            "to find quiet gaps; a line without a time, such as one of a stack trace, may belong to another line there."
        )


def _having(labels: Sequence[Mapping[str, str]], name: str, value: str) -> int:
    return sum(each.get(name) == value for each in labels)


def _groups(rows: Iterable[Row], why: Mapping[str, str], incident: datetime | None = None) -> tuple[ErrorGroup, ...]:
    """Return the groups, those that did most harm first; of the same harm what is new, and then what is many."""
    groups = [_group(row, why.get(row["name"], ""), incident) for row in rows]
    groups.sort(key=lambda group: (PLACE[Severity(group.severity)], not group.novel, -group.count))
    return tuple(groups)


def _group(row: Row, why: str, incident: datetime | None) -> ErrorGroup:
    example = row["example"]
    return ErrorGroup(
        kind=kind_of(row["name"], example["labels"], example["text"] or ""),
        severity=severity_of(row["name"], example["labels"]),
        novel=bool(incident and row["first"] and row["first"] >= incident),
        count=int(row["count"]),
        example=Evidence(file=example["file"], line=example["line"], text=example["text"] or "", time=example["at"]),
        first=row["first"],
        last=row["last"],
        why=why,
    )
