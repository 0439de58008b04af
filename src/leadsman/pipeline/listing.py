"""What a diagnosis lists besides its findings: what was read, what was not, errors that nothing explains."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.model import Diagnosis, ErrorGroup, Evidence, Folded, Missing, NotUnderstood
from leadsman.pipeline.shapes import quoted, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, Row

GROUPS_SHOWN = 50
"""Kinds of errors listed for one capture."""

PASSED_OVER = (names.SUBJECT_QUIET, names.SETTING, *names.LIFE)
"""Names of ordinary life: they are no errors, and their times are told by `SUBJECT_ACTIVE`."""

SPAN = (names.SUBJECT_ACTIVE, *(name for name in names.STATE if name != names.ITEM_MISSING))
"""Names that say from when to when a capture tells of anything: all of them together are one row."""

STEPS = {
    "listed": f"""
        SELECT capture, name, explained_by, at, struct(file, line, at, text, labels) AS example,
            coalesce(try_to_timestamp(labels['until']), at) AS until,
            CASE WHEN name IN ('{names.FILE_READ}', '{names.FILE_NOT_UNDERSTOOD}') THEN file
                WHEN name = '{names.ITEM_MISSING}' THEN concat_ws(' ', labels['what'], text)
                ELSE coalesce(labels['message'], labels['error'], source) END AS group,
            if(name IN ('{names.ERROR}', '{names.FILE_READ}'), value, 1D) AS count
        FROM events WHERE name NOT IN ({quoted(*PASSED_OVER, *SPAN)})
    """,
    "grouped": """
        SELECT capture, name, group, explained_by, sum(count) AS count, min(at) AS first, max(until) AS last,
            min_by(example, struct(at, example.file, example.line)) AS example
        FROM listed GROUP BY capture, name, group, explained_by
    """,
    "spans": f"""
        SELECT capture, '{names.SUBJECT_ACTIVE}' AS name, CAST(NULL AS STRING) AS group,
            CAST(NULL AS STRING) AS explained_by, CAST(count(*) AS DOUBLE) AS count, min(at) AS first,
            max(coalesce(if(name = '{names.SUBJECT_ACTIVE}', try_to_timestamp(labels['until']), NULL), at)) AS last,
            NULL AS example
        FROM events WHERE name IN ({quoted(*SPAN)}) GROUP BY capture
    """,
    "told": "SELECT * FROM grouped UNION ALL SELECT * FROM spans",
}
"""Most rows of a large capture are in spans, and are counted without being sorted."""

APPLICATION = "application"
BROKER = "broker"


def told_of(events: DataFrame) -> dict[str, list[Row]]:
    """Return what is listed besides findings, by capture: what was read, and errors with one example a group.

    `events` say in `explained_by` which mode's finding accounts for them.
    """
    told: dict[str, list[Row]] = {}
    for row in table({"events": events}, STEPS).collect():
        told.setdefault(row["capture"], []).append(row)
    return told


def listing(told: Sequence[Row], *, benign: Mapping[str, str]) -> Diagnosis:
    """Return a diagnosis that holds only what is listed. `benign` gives the reason by event name."""
    files = _files(told)
    spans = [row for row in told if row["name"] in (names.SUBJECT_ACTIVE, names.ITEM_MISSING)]
    silent = {*benign, names.FILE_READ, names.FILE_NOT_UNDERSTOOD, names.SUBJECT_ACTIVE, names.ITEM_MISSING}
    return Diagnosis(
        path="",
        verdicts={},
        unexplained=_groups((row for row in told if row["name"] not in silent and not row["explained_by"]), {}),
        benign=_groups((row for row in told if row["name"] in benign), benign),
        since=min((row["first"] for row in spans if row["first"]), default=None),
        until=max((row["last"] for row in spans if row["last"]), default=None),
        files=len(files),
        bytes=sum(int(row["example"]["labels"]["bytes"]) for row in files),
        lines=int(sum(row["count"] for row in files)),
        sources=tuple(sorted({name for row in files for name in _sources(row["example"]["labels"])})),
        not_understood=tuple(
            NotUnderstood(row["example"]["file"], row["example"]["text"])
            for row in _named(told, names.FILE_NOT_UNDERSTOOD)
        ),
        missing=tuple(sorted(map(_missing, _named(told, names.ITEM_MISSING)), key=lambda each: (each.what, each.why))),
        notes=tuple(_notes(files)),
    )


def folded(told: Sequence[Row], mode: str) -> tuple[Folded, ...]:
    """Return how many events of which name a mode's finding accounts for, most first."""
    counts: Counter[str] = Counter()
    for row in told:
        if row["explained_by"] == mode:
            counts[row["name"]] += int(row["count"])
    return tuple(Folded(name=name, count=count) for name, count in counts.most_common())


def visible_sources(files: Sequence[Mapping[str, str]]) -> set[str]:
    """Return the sources whose own symptoms the files could show. `files` are the labels of those that were read.

    What a broker's log holds of client lines is the broker talking to its controller. A log with times whose writer no
    signature names is an application's, and would show its clients' errors.
    """
    named = [_sources(labels) for labels in files]
    seen = {name for each in named for name in ({BROKER} if BROKER in each else each)}
    if any(not each and labels["timed"] == "true" for each, labels in zip(named, files, strict=True)):
        seen.add(APPLICATION)
    return seen


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
    guessed = sum(row["example"]["labels"]["zoned"] == "false" for row in files)
    if guessed:
        yield f"{guessed} of {len(files)} files carry times without a zone; --timezone says which (default UTC)."


def _groups(rows: Iterable[Row], why: Mapping[str, str]) -> tuple[ErrorGroup, ...]:
    groups = [_group(row, why.get(row["name"], "")) for row in rows]
    return tuple(sorted(groups, key=lambda group: -group.count)[:GROUPS_SHOWN])


def _group(row: Row, why: str) -> ErrorGroup:
    example = row["example"]
    return ErrorGroup(
        kind=example["labels"].get("kind") or row["name"],
        count=int(row["count"]),
        example=Evidence(file=example["file"], line=example["line"], text=example["text"] or "", time=example["at"]),
        first=row["first"],
        last=row["last"],
        why=why,
    )
