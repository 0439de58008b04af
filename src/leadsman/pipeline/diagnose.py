"""From paths to diagnoses, in one Spark job however many captures there are, each of one cluster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from leadsman import vocabulary as names
from leadsman.capture import read_manifest
from leadsman.model import Verdict
from leadsman.pipeline.answers import matrix_of, silence
from leadsman.pipeline.changes.around import around, onset
from leadsman.pipeline.conditions.find import conditions_of
from leadsman.pipeline.embedded import is_embedded
from leadsman.pipeline.folding import investigate, with_causes
from leadsman.pipeline.held import KEPT_APART, held
from leadsman.pipeline.inputs import cores, events_of, parcels_of
from leadsman.pipeline.listing import folded, last_time, listing, outside, told_of
from leadsman.pipeline.parcels import opened
from leadsman.pipeline.parting import files_of, parted, parts_in, sources_of
from leadsman.pipeline.remote_files import listed
from leadsman.pipeline.session import SETTINGS
from leadsman.pipeline.spent import spent
from leadsman.pipeline.tasks import MOST_EVENTS, MOST_SENT, diagnosed_here, diagnosed_there
from leadsman.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession

    from leadsman.catalogue import Mode
    from leadsman.condition import Condition
    from leadsman.model import Diagnosis, Finding
    from leadsman.pipeline.clusters import Part
    from leadsman.pipeline.folding import Judged
    from leadsman.pipeline.question import Input, Question
    from leadsman.pipeline.streams import Found

COPIES_NAMED = 5

MACHINES_LOST = 3
"""So often a diagnosis begins anew. A cluster that loses more in one diagnosis has a trouble of its own."""

EVENTS_LOST = ("CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND", "Checkpoint block")
"""How Spark says that computed events are gone with the executor that held them."""

EVENTS_A_PARTITION = 500_000
"""Of events that Spark SQL shuffles: some 100 MB. Fewer partitions than that and one task holds too much."""

Read = tuple["DataFrame", set[str]]
"""Events that were read once, and their names."""

READER_NAMES = (names.FILE_READ, names.FILE_NOT_UNDERSTOOD, names.SUBJECT_ACTIVE, names.SUBJECT_QUIET, names.SETTING)


def diagnose(
    spark: SparkSession, source: Input, question: Question, keep: Callable[[DataFrame], None] | None = None
) -> list[Diagnosis]:
    """Return one diagnosis a path and cluster, in the order given; a path that tells of one cluster at most has one.

    Captures are diagnosed in tasks (`tasks.py`); those that are too large for one, by Spark SQL. `keep` is handed the
    event table before it is let go. Where a machine is lost with events that it had read, all is done again.
    """
    source = listed(spark, source, cores(spark))
    for _ in range(MACHINES_LOST):
        try:
            return _diagnosed(spark, source, question, keep)
        except (PySparkException, Py4JError) as error:
            if not any(name in str(error) for name in EVENTS_LOST):
                raise
    return _diagnosed(spark, source, question, keep)


def _diagnosed(
    spark: SparkSession, source: Input, question: Question, keep: Callable[[DataFrame], None] | None
) -> list[Diagnosis]:
    sent = None if _is_small(source) else parcels_of(spark, source).persist()
    try:
        found = _in_tasks(spark, source, question, sent)
        if left := [path for path in source.found if path not in found]:
            found |= _by_path(_by_spark(spark, _only(source, left), question, sent))
        if keep:
            events = _chosen(events_of(spark, source) if sent is None else opened(sent), question)
            keep(_in_parts(events, parts_in(source, files_of(events, source))))
    finally:
        if sent:
            sent.unpersist()
    return [_scaled(each, source.found[path]) for path in source.found for each in found.get(path, ())]


def _in_tasks(
    spark: SparkSession, source: Input, question: Question, sent: DataFrame | None
) -> dict[str, list[Diagnosis]]:
    if sent is None:
        assert source.events is not None
        is_small = source.events.num_rows <= MOST_EVENTS
        return diagnosed_here(spark, source, question, cores(spark)) if is_small else {}
    counts = {
        row["capture"]: row["events"] for row in sent.groupBy("capture").agg(F.sum("count").alias("events")).collect()
    }
    _share_out(spark, sum(counts.values()))
    small = {capture: count for capture, count in counts.items() if count <= MOST_EVENTS}
    return diagnosed_there(sent, source, question, small) if small else {}


def _by_spark(spark: SparkSession, source: Input, question: Question, sent: DataFrame | None) -> list[Diagnosis]:
    """Return the diagnoses by Spark's own SQL."""
    if sent is None:
        return on_one_session(spark, source, question)
    read = _held(_chosen(opened(sent.where(F.col("capture").isin(*source.found))), question), source)
    try:
        return on_one_session(spark, source, question, read=read)
    finally:
        read[0].unpersist()


def _share_out(spark: SparkSession, events: int) -> None:
    """Let Spark SQL shuffle very many events in more partitions than the few that are right for most captures."""
    key = "spark.sql.shuffle.partitions"
    if spark.conf.get(key) == SETTINGS[key]:
        spark.conf.set(key, str(max(int(SETTINGS[key]), events // EVENTS_A_PARTITION)))


def _is_small(source: Input) -> bool:
    return source.is_here and source.events is not None and source.events.num_rows <= MOST_SENT


def _are_apart(parts: Sequence[Part]) -> bool:
    return any(part.name != part.path for part in parts)


def _in_parts(events: DataFrame, parts: Sequence[Part]) -> DataFrame:
    return parted(events, parts) if _are_apart(parts) else events


def _only(source: Input, paths: Collection[str]) -> Input:
    """Return the input without all other paths."""
    if len(paths) == len(source.found):
        return source
    events = source.events
    if events is not None:
        wanted = set(paths)
        events = events.filter(pa.array([path in wanted for path in events.column("capture").to_pylist()]))
    return replace(source, found={path: source.found[path] for path in paths}, events=events)


def _by_path(diagnoses: Iterable[Diagnosis]) -> dict[str, list[Diagnosis]]:
    found: dict[str, list[Diagnosis]] = {}
    for each in diagnoses:
        found.setdefault(each.path, []).append(each)
    return found


def on_one_session(
    spark: SparkSession, source: Input, question: Question, *, read: Read | None = None
) -> list[Diagnosis]:
    """Return the diagnoses of all captures by the queries of one session, Spark's own or one embedded in a task."""
    events, present = read or _held(_chosen(events_of(spark, source), question), source)
    whole = events
    try:
        files = files_of(events, source)
        parts = parts_in(source, files)
        if _are_apart(parts):
            events, _ = _held(parted(events, parts), source)
        asked = _with_signs(question, present)
        judged = investigate(events, asked, sources_of(files, parts, question), [part.name for part in parts])
        with spent("errors that are listed"):
            told = told_of(with_causes(events, judged.claims()))
        ends = {part.name: last_time(told.get(part.name, [])) for part in parts}
        with spent("conditions"):
            conditions = conditions_of(events, present, ends=ends, many=_are_many(source))
        findings = {
            part.name: list(_findings(events, part.name, question.modes, told=told.get(part.name, []), judged=judged))
            for part in parts
        }
    finally:
        events.unpersist()
        if read is None:
            whole.unpersist()
    return [
        _diagnosis(
            part,
            source.found[part.path],
            told.get(part.name, []),
            judged=findings[part.name],
            question=question,
            conditions=conditions[part.name],
        )
        for part in parts
    ]


def _held(events: DataFrame, source: Input) -> Read:
    """Return the events read once, and their names. SQL over a persisted frame would read the files query by query.

    A small file can hold very many events: 192,000 samples of metrics are 5 MB.
    """
    if source.events is not None and (is_embedded(events.sparkSession) or not _are_many(source)):
        names_held = set(map(str, source.events.column("name").unique().to_pylist()))
        return events if is_embedded(events.sparkSession) else events.persist(), names_held
    return held(events)


def _are_many(source: Input) -> bool:
    return not source.is_here or source.events is None or source.events.num_rows > KEPT_APART


def _with_signs(question: Question, present: set[str]) -> Question:
    """Leave out the modes of which there is no sign: a detector costs a second whether or not it finds anything."""
    modes = [mode for mode in question.modes if not mode.card.signs or present.intersection(mode.card.signs)]
    return replace(question, modes=modes)


def _chosen(events: DataFrame, question: Question) -> DataFrame:
    """Keep the time asked for. Events without a time stay: settings hold at any time. A group of errors has an end."""
    ends = F.expr("coalesce(try_to_timestamp(labels['until']), at)")
    for bound, keeps in ((question.since, ends.__ge__), (question.until, F.col("at").__le__)):
        if bound is not None:
            reader = F.col("name").isin(*READER_NAMES) & (F.col("name") != names.SUBJECT_QUIET)
            events = events.where(reader | F.col("at").isNull() | keeps(F.lit(bound)))
    return events


def _findings(
    events: DataFrame, capture: str, modes: Sequence[Mode], *, told: Sequence[Row], judged: Judged
) -> Iterator[tuple[Mode, Finding]]:
    """Yield what was found of each mode, also of those that were not asked for want of any sign."""
    for mode in modes:
        finding = _whole(mode, capture, told, judged)
        yield mode, _with_changes(events, capture, mode, finding=finding, judged=judged)


def _whole(mode: Mode, capture: str, told: Sequence[Row], judged: Judged) -> Finding:
    """Return a finding with its matrix, and with what it accounts for."""
    answer = judged.answers.get((capture, mode.name), silence())
    finding = judged.finding(capture, mode)
    return replace(finding, matrix=matrix_of(mode, answer), accounts_for=folded(told, mode.name))


def _with_changes(events: DataFrame, capture: str, mode: Mode, *, finding: Finding, judged: Judged) -> Finding:
    """Add what changed when it began, to a finding of a mode whose card says when that is."""
    answer = judged.answers.get((capture, mode.name), silence())
    began = onset(mode.card, answer.observations)
    if began is None or finding.verdict is not Verdict.PRESENT:
        return finding
    return replace(finding, changes=around(events.where(F.col("capture") == capture), finding, began))


def _diagnosis(
    part: Part,
    found: Found,
    told: Sequence[Row],
    *,
    judged: Sequence[tuple[Mode, Finding]],
    question: Question,
    conditions: Sequence[Condition],
) -> Diagnosis:
    benign = {each.name: each.why for mode, _ in judged for each in mode.card.benign}
    since = (finding.since for _, finding in judged if finding.verdict is Verdict.PRESENT and finding.since)
    listed = listing(told, benign=benign, incident=min(since, default=None), conditions=conditions)
    shown = (finding for _, finding in judged if finding.verdict is not Verdict.ABSENT)
    return replace(
        listed,
        path=part.path,
        conditions=tuple(conditions),
        cluster=part.cluster,
        verdicts={finding.mode: finding.verdict for _, finding in judged},
        findings=tuple(sorted(shown, key=_rank)),
        not_understood=(*(each for each in found.refused if each.file in part.files), *listed.not_understood),
        notes=(
            *filter(None, [part.note]),
            *outside(told, question),
            *_copies(part, found),
            *listed.notes,
        ),
    )


def _copies(part: Part, found: Found) -> list[str]:
    """Return what is said of files that stand in the capture twice."""
    copies = [each for each in found.copies if each.of in part.files]
    if not copies:
        return []
    named = ", ".join(f"{each.file} (a copy of {each.of})" for each in copies[:COPIES_NAMED])
    more = f" and {len(copies) - COPIES_NAMED} more" if len(copies) > COPIES_NAMED else ""
    holds = count(len(copies), "file holds|files hold")
    return [f"{holds} the content of another file, which was read once: {named}{more}."]


def _rank(finding: Finding) -> tuple[int, bool]:
    """Order findings: PRESENT first, then those of which a symptom was seen, then those of which nothing was."""
    return list(Verdict).index(finding.verdict), not finding.chain


def _scaled(diagnosis: Diagnosis, found: Found) -> Diagnosis:
    """Add what a capture's manifest says about short values for long ones."""
    place = Path(diagnosis.path)
    manifest = read_manifest(place) if place.is_dir() else found.manifest
    says = (f"Recorded by the lab: {name}: {says}." for name, says in manifest.stands_for.items()) if manifest else ()
    return replace(diagnosis, notes=(*says, *diagnosis.notes))
