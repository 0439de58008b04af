"""Lists what a diagnosis holds besides findings: the files read and not read, and errors that no finding explains."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.model import AttributedEvents, Diagnosis, ErrorGroup, Evidence, NotCollectedItem, NotUnderstood
from leadsman.pipeline.conditions.deduplicate import is_part_of_condition, is_simultaneous, one_group_per_failure
from leadsman.pipeline.detector_sql import run_steps, sql_literals
from leadsman.pipeline.severity import SEVERITY_RANK, ErrorSeverity, error_title, severity_of
from leadsman.words import moment, span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, Row

    from leadsman.model.condition import Condition
    from leadsman.pipeline.request import DiagnosisRequest

GROUPS_SHOWN = 50
"""Groups of errors listed for one capture."""

NOT_LISTED = (names.SUBJECT_IDLE, names.SETTING, *names.LIFECYCLE)
"""Events of normal operation: they are no errors, and `SUBJECT_ACTIVE` covers their times."""

SPAN = (names.SUBJECT_ACTIVE, *(name for name in names.STATE if name != names.ITEM_NOT_COLLECTED))
"""Events that show which time a capture covers: all of them together are one row."""

MULTI_LINE = (
    names.AUTHENTICATION_FAILED,
    names.AUTHORIZATION_FAILED,
    names.CERTIFICATE_REJECTED,
    names.NAME_UNRESOLVED,
    names.PRODUCER_FENCED,
    names.TLS_FAILED,
)
"""Failures that clients log in several lines, one after another: such lines are counted once."""

SAME_FAILURE_MICROS = 20_000
"""A client writes the lines of one failure, stack traces included, within a few milliseconds."""

STEPS = {
    "listed": f"""
        SELECT capture, subject, name, explained_by, at, struct(file, line, at, text, labels) AS example,
            coalesce(try_to_timestamp(labels['until']), at) AS until,
            CASE WHEN name IN ('{names.FILE_READ}', '{names.FILE_NOT_UNDERSTOOD}') THEN file
                WHEN name = '{names.ERRORS_UNLISTED}' THEN concat_ws(' ', file, line)
                WHEN name = '{names.ITEM_NOT_COLLECTED}' THEN concat_ws(' ', labels['what'], text)
                ELSE coalesce(labels['message'], labels['error'], source) END AS group,
            if(name IN ('{names.ERROR}', '{names.ERRORS_UNLISTED}', '{names.FILE_READ}'), value, 1D) AS count
        FROM events WHERE name NOT IN ({sql_literals(*NOT_LISTED, *SPAN)})
    """,
    "by_subject": f"""
        SELECT capture, name, group, explained_by, subject, sum(count) AS count, min(at) AS first, max(until) AS last,
            min_by(example, struct(at, example.file, example.line)) AS example,
            array_sort(collect_list(IF(name IN ({sql_literals(*MULTI_LINE)}), unix_micros(at), NULL))) AS times
        FROM listed GROUP BY capture, name, group, explained_by, subject
    """,
    "grouped": f"""
        SELECT capture, name, group, explained_by, min(first) AS first, max(last) AS last,
            sum(IF(size(times) > 0, count - size(filter(times, (at, n) -> n > 0 AND
                at - coalesce(get(times, n - 1), at) <= {SAME_FAILURE_MICROS})), count)) AS count,
            min_by(example, struct(first, example.file, example.line)) AS example
        FROM by_subject GROUP BY capture, name, group, explained_by
    """,
    "spans": f"""
        SELECT capture, '{names.SUBJECT_ACTIVE}' AS name, CAST(NULL AS STRING) AS group,
            CAST(NULL AS STRING) AS explained_by, CAST(count(*) AS DOUBLE) AS count, min(at) AS first,
            max(coalesce(if(name = '{names.SUBJECT_ACTIVE}', try_to_timestamp(labels['until']), NULL), at)) AS last,
            NULL AS example
        FROM events WHERE name IN ({sql_literals(*SPAN)}) GROUP BY capture
    """,
    "rows": """
        SELECT capture, name, group, explained_by, count, first, last, example FROM grouped
        UNION ALL SELECT * FROM spans
    """,
}
"""Most rows of a large capture belong to `spans`, which counts them without sorting."""

NOT_ERRORS = (
    names.ERRORS_UNLISTED,
    names.FILE_NOT_UNDERSTOOD,
    names.FILE_READ,
    names.ITEM_NOT_COLLECTED,
    names.SUBJECT_ACTIVE,
)
"""Events that are reported elsewhere than in the list of errors."""

MIN_SPAN = timedelta(minutes=1)
"""A shorter capture covers no time before the incident with which new errors could be distinguished from old ones."""

APPLICATION = "application"
ACCESS_LOG = "access log"
BROKER = "broker"


def listed_rows(events: DataFrame) -> dict[str, list[Row]]:
    """Return the rows of the listing by capture: the files read, and groups of errors with one example each.

    `events` have the mode whose finding explains them in the column `explained_by`.
    """
    rows: dict[str, list[Row]] = {}
    for row in sorted(run_steps({"events": events}, STEPS).collect(), key=_sort_key):
        rows.setdefault(row["capture"], []).append(row)
    return rows


def _sort_key(row: Row) -> tuple[str, str, str]:
    """Return a sort key that does not depend on the order in which Spark returns rows."""
    return row["name"], row["group"] or "", row["explained_by"] or ""


def listing(
    rows: Sequence[Row],
    *,
    benign: Mapping[str, str],
    incident: datetime | None = None,
    conditions: Sequence[Condition] = (),
) -> Diagnosis:
    """Return a diagnosis that holds the listing alone. `benign` gives the reason by event name.

    An error group is new if its first error came after the `incident` began, or after the middle of the capture where
    no incident is known; none is new where the capture covers no time before. Errors that a condition covers are not
    listed.
    """
    files = _files(rows)
    spans = [row for row in rows if row["name"] in (names.SUBJECT_ACTIVE, names.ITEM_NOT_COLLECTED)]
    excluded = {*benign, *NOT_ERRORS}
    errors = [row for row in rows if row["name"] not in excluded and not row["explained_by"]]
    failures = one_group_per_failure(errors)
    harmless = [row for row in rows if row["name"] in benign and not any(is_simultaneous(row, each) for each in errors)]
    unexplained = _groups(
        (row for row in failures if not is_part_of_condition(row["name"], row["first"], row["last"], conditions)),
        {},
        _new_since(rows, incident),
    )
    return Diagnosis(
        path="",
        verdicts={},
        unexplained=unexplained[:GROUPS_SHOWN],
        benign=_groups(harmless, benign)[:GROUPS_SHOWN],
        since=min((row["first"] for row in spans if row["first"]), default=None),
        until=last_time(rows),
        files=len(files),
        bytes=sum(int(row["example"]["labels"]["bytes"]) for row in files),
        lines=int(sum(row["count"] for row in files)),
        sources=tuple(sorted({name for row in files for name in _sources(row["example"]["labels"])})),
        not_understood=tuple(
            NotUnderstood(row["example"]["file"], row["example"]["text"])
            for row in _rows_named(rows, names.FILE_NOT_UNDERSTOOD)
        ),
        not_collected=tuple(
            sorted(
                map(_not_collected, _rows_named(rows, names.ITEM_NOT_COLLECTED)),
                key=lambda each: (each.what, each.why),
            )
        ),
        notes=(*_not_listed(unexplained[GROUPS_SHOWN:], _rows_named(rows, names.ERRORS_UNLISTED)), *_notes(files)),
    )


def _not_listed(beyond_limit: Sequence[ErrorGroup], unlisted: Sequence[Row]) -> Iterator[str]:
    """Say how many errors are not listed: a bound, as the reader may have dropped the same kind more than once."""
    kinds = len(beyond_limit) + sum(int(row["example"]["labels"]["kinds"]) for row in unlisted)
    errors = sum(group.count for group in beyond_limit) + sum(int(row["count"]) for row in unlisted)
    if kinds:
        yield (
            f"{'Up to ' if unlisted else ''}{kinds:,} further kinds of errors, {errors:,} errors in all, are not "
            f"listed. The {GROUPS_SHOWN} listed kinds are the most severe, then the newest, then the most frequent."
        )


def _new_since(rows: Sequence[Row], incident: datetime | None) -> datetime | None:
    """Return the time since which errors are new: the incident's, else the middle; None where no time lies before."""
    since = min((row["first"] for row in rows if row["first"]), default=None)
    until = incident or last_time(rows)
    if not since or not until or until - since < MIN_SPAN:
        return None
    return incident or since + (until - since) / 2


def last_time(rows: Iterable[Row]) -> datetime | None:
    """Return the last time that a capture covers."""
    spans = (row for row in rows if row["name"] in (names.SUBJECT_ACTIVE, names.ITEM_NOT_COLLECTED))
    return max((row["last"] for row in spans if row["last"]), default=None)


def attributed_event_counts(rows: Sequence[Row], mode: str) -> tuple[AttributedEvents, ...]:
    """Return the events that a mode's finding explains, counted by name, the most frequent first."""
    counts: Counter[str] = Counter()
    for row in rows:
        if row["explained_by"] == mode:
            counts[row["name"]] += int(row["count"])
    return tuple(AttributedEvents(name=name, count=count) for name, count in counts.most_common())


def visible_sources(files: Sequence[Mapping[str, str]]) -> set[str]:
    """Return the sources whose events the files could show. `files` are the labels of the files that were read.

    Client lines in a broker's log are of the broker's own client, which connects to the controller. A log with times
    whose writer no signature identifies is an application's, and would show its clients' errors.
    """
    sources = [_sources(labels) for labels in files]
    visible = {name for each in sources for name in ({BROKER} if BROKER in each else each)}
    for each, labels in zip(sources, files, strict=True):
        visible |= set(labels.get("shows", "").split(",")) - {"", *({names.CONSUMER} if BROKER in each else ())}
    if any(not each and _is_application(labels) for each, labels in zip(sources, files, strict=True)):
        visible.add(APPLICATION)
    return visible


def covers_requested_time(labels: Mapping[str, str], request: DiagnosisRequest) -> bool:
    """Say whether a file covers any of the requested time, by its labels. A file without times may."""
    if "first" not in labels:
        return True
    first, last = (datetime.fromisoformat(labels[name]) for name in ("first", "last"))
    return (request.until is None or first <= request.until) and (request.since is None or last >= request.since)


def out_of_range_notes(rows: Sequence[Row], request: DiagnosisRequest) -> list[str]:
    """Say so where no file that was read covers the requested time, and which time the files cover."""
    files = [row["example"]["labels"] for row in _files(rows)]
    timed = [labels for labels in files if "first" in labels]
    if not timed or any(covers_requested_time(labels, request) for labels in timed):
        return []
    bounds = {"--since": request.since, "--until": request.until}
    requested = " ".join(f"{option} {moment(bound)}" for option, bound in bounds.items() if bound)
    first, last = min(labels["first"] for labels in timed), max(labels["last"] for labels in timed)
    covered = span(datetime.fromisoformat(first), datetime.fromisoformat(last))
    return [f"The capture holds no line of the requested time ({requested}). It covers {covered}."]


def _is_application(labels: Mapping[str, str]) -> bool:
    """Whether a file whose writer no signature identifies is an application's log. A web server's access log is not."""
    return labels["timed"] == "true" and labels["format"] != ACCESS_LOG


def _rows_named(rows: Iterable[Row], name: str) -> list[Row]:
    return [row for row in rows if row["name"] == name]


def _files(rows: Iterable[Row]) -> list[Row]:
    return _rows_named(rows, names.FILE_READ)


def _not_collected(row: Row) -> NotCollectedItem:
    example = row["example"]
    labels = example["labels"]
    return NotCollectedItem(labels.get("what") or example["file"], example["text"] or "", labels.get("command") or "")


def _sources(labels: Mapping[str, str]) -> set[str]:
    return set(labels["sources"].split(",")) - {""}


def _notes(files: Sequence[Row]) -> Iterator[str]:
    labels = [row["example"]["labels"] for row in files]
    if guessed := _count_labels(labels, "zoned", "false"):
        yield (
            f"Files whose times name no zone: {guessed} of {len(files)}. They were read in the zone of --timezone "
            "(default UTC)."
        )
    if named := _count_labels(labels, "dated_by", "name"):
        yield f"{named} of {len(files)} files hold no times. The times in the files' names were used."
    if mixed := _count_labels(labels, "order", "none"):
        yield (
            f"In {mixed} of {len(files)} files the lines are not in the order of time. They were sorted by time to find"
            " idle gaps. A line without a time, such as one of a stack trace, may belong to another line there."
        )


def _count_labels(labels: Sequence[Mapping[str, str]], name: str, value: str) -> int:
    return sum(each.get(name) == value for each in labels)


def _groups(rows: Iterable[Row], why: Mapping[str, str], incident: datetime | None = None) -> tuple[ErrorGroup, ...]:
    """Return the groups, the most severe first, then new ones, then the most frequent."""
    groups = [_group(row, why.get(row["name"], ""), incident) for row in rows]
    groups.sort(key=lambda group: (SEVERITY_RANK[ErrorSeverity(group.severity)], not group.is_new, -group.count))
    return tuple(groups)


def _group(row: Row, why: str, incident: datetime | None) -> ErrorGroup:
    example = row["example"]
    return ErrorGroup(
        kind=error_title(row["name"], example["labels"], example["text"] or ""),
        severity=severity_of(row["name"], example["labels"]),
        is_new=bool(incident and row["first"] and row["first"] >= incident),
        count=int(row["count"]),
        example=Evidence(file=example["file"], line=example["line"], text=example["text"] or "", time=example["at"]),
        first=row["first"],
        last=row["last"],
        why=why,
    )
