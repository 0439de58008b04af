"""Diagnoses captures by the SQL of one session: read, scope, run the detectors, list the rest, compose."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from leadsman import vocabulary as names
from leadsman.errors import ISSUES
from leadsman.interrupt import raise_if_interrupted
from leadsman.model import Verdict
from leadsman.pipeline.changes.around import changes_around, onset_time
from leadsman.pipeline.conditions.find import find_conditions
from leadsman.pipeline.listing import attributed_event_counts, last_time, listed_rows, listing, out_of_range_notes
from leadsman.pipeline.scope.cluster_files import (
    cluster_scopes_of_input,
    file_facts,
    has_several_clusters,
    sources_by_scope,
    split_by_cluster,
)
from leadsman.pipeline.spark.cached import SEPARATE_FRAME_EVENTS, cache_events
from leadsman.pipeline.spark.embedded import is_embedded
from leadsman.pipeline.spark.event_frames import event_frame
from leadsman.pipeline.timings import timed
from leadsman.pipeline.verdict.attribution import attribute_events, detector_results
from leadsman.pipeline.verdict.run_detectors import failed_output, make_matrix, no_output
from leadsman.redaction import mask
from leadsman.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from pyspark.sql import DataFrame, Row, SparkSession

    from leadsman.catalogue import Mode
    from leadsman.model import Diagnosis, Finding
    from leadsman.model.condition import Condition
    from leadsman.pipeline.request import DiagnosisInput, DiagnosisRequest
    from leadsman.pipeline.scope.clusters import ClusterScope
    from leadsman.pipeline.scope.streams import CaptureFiles
    from leadsman.pipeline.verdict.attribution import DetectorResults

COPIES_NAMED = 5

READER_NAMES = (names.FILE_READ, names.FILE_NOT_UNDERSTOOD, names.SUBJECT_ACTIVE, names.SUBJECT_IDLE, names.SETTING)


class CachedEvents(NamedTuple):
    """Events that are read once, and the names of these events."""

    events: DataFrame
    names: set[str]


class ScopedEvents(NamedTuple):
    """Events whose `capture` is a scope: one capture, or its files of one cluster. `sources`: those of each scope."""

    events: DataFrame
    scopes: Sequence[ClusterScope]
    sources: Mapping[str, set[str]]

    @property
    def captures(self) -> list[str]:
        """The names of the scopes."""
        return [scope.name for scope in self.scopes]


class ListedFacts(NamedTuple):
    """What a diagnosis lists besides its findings, by scope: rows of files and errors, and conditions."""

    rows: Mapping[str, list[Row]]
    conditions: Mapping[str, Sequence[Condition]]
    failed: Mapping[str, str]
    """The error with which the conditions of a scope could not be found."""


def diagnose_in_session(
    spark: SparkSession,
    inputs: DiagnosisInput,
    request: DiagnosisRequest,
    *,
    cached: CachedEvents | None = None,
) -> list[Diagnosis]:
    """Return the diagnoses of all captures by the SQL of one session: Spark's own, or the one embedded in a task.

    `cached` are the events where they are read already.
    """
    with ExitStack() as frames:
        read = cached or _read(spark, inputs, request, frames)
        scoped = _scope(read, inputs, request, frames)
        triggered = _without_untriggered_modes(request, read.names)
        results = detector_results(scoped.events, triggered, scoped.sources, scoped.captures)
        rows = _listed_rows(scoped, results)
        listed = (
            _find_conditions(scoped, read.names, rows, many=_has_many_events(inputs))
            if request.conditions
            else ListedFacts(rows, dict.fromkeys(scoped.captures, ()), {})
        )
        findings = {
            capture: list(_findings(scoped.events, capture, request.modes, listed=listed, results=results))
            for capture in scoped.captures
        }
    return [
        _diagnosis(scope, inputs.captures[scope.path], listed, findings=findings[scope.name], request=request)
        for scope in scoped.scopes
    ]


def _read(spark: SparkSession, inputs: DiagnosisInput, request: DiagnosisRequest, frames: ExitStack) -> CachedEvents:
    """Return the events of the requested time; `frames` unpersists them at its end."""
    read = cache_input_events(in_time_range(event_frame(spark, inputs), request), inputs)
    frames.callback(read.events.unpersist)
    return read


def _scope(read: CachedEvents, inputs: DiagnosisInput, request: DiagnosisRequest, frames: ExitStack) -> ScopedEvents:
    """Return the events by capture and Kafka cluster, and the telemetry sources of each scope."""
    events = read.events
    files = file_facts(events, inputs)
    scopes = cluster_scopes_of_input(inputs, files)
    if has_several_clusters(scopes):
        events = cache_input_events(split_by_cluster(events, scopes), inputs).events
        frames.callback(events.unpersist)
    return ScopedEvents(events, scopes, sources_by_scope(files, scopes, request))


def _listed_rows(scoped: ScopedEvents, results: DetectorResults) -> dict[str, list[Row]]:
    """Return the rows of files and errors. Events that a finding explains are attributed to its mode."""
    with timed("unexplained errors"):
        return listed_rows(attribute_events(scoped.events, results.attribution_rules()))


def _find_conditions(
    scoped: ScopedEvents, present: set[str], rows: Mapping[str, list[Row]], *, many: bool
) -> ListedFacts:
    """Return the rows with the conditions of each scope."""
    ends = {capture: last_time(rows.get(capture, [])) for capture in scoped.captures}
    with timed("conditions"):
        try:
            return ListedFacts(rows, find_conditions(scoped.events, present, ends=ends, many=many), {})
        except Exception as error:  # a fault on one capture must not cost the verdicts, nor the conditions of others
            raise_if_interrupted(error)
            if is_embedded(scoped.events.sparkSession):
                raise  # Spark SQL diagnoses this capture instead
        return ListedFacts(rows, *_conditions_one_by_one(scoped, present, ends, many=many))


def _conditions_one_by_one(
    scoped: ScopedEvents, present: set[str], ends: Mapping[str, datetime | None], *, many: bool
) -> tuple[dict[str, Sequence[Condition]], dict[str, str]]:
    """Return the conditions of each scope, and the errors of those whose conditions cannot be found."""
    conditions: dict[str, Sequence[Condition]] = {}
    failed: dict[str, str] = {}
    for capture in scoped.captures:
        events = scoped.events.where(F.col("capture") == capture)
        try:
            conditions |= find_conditions(events, present, ends={capture: ends[capture]}, many=many)
        except Exception as error:  # noqa: BLE001 - whatever fails here is of this capture alone
            raise_if_interrupted(error)
            conditions[capture], failed[capture] = (), failed_output(error).failed
    return conditions, failed


def cache_input_events(events: DataFrame, inputs: DiagnosisInput) -> CachedEvents:
    """Return the events, read once, and their names. SQL over a persisted frame would read the files for each query.

    A small file can hold very many events: 192,000 samples of metrics are 5 MB.
    """
    if inputs.events is not None and (is_embedded(events.sparkSession) or not _has_many_events(inputs)):
        present = set(map(str, inputs.events.column("name").unique().to_pylist()))
        return CachedEvents(events if is_embedded(events.sparkSession) else events.persist(), present)
    return CachedEvents(*cache_events(events))


def _has_many_events(inputs: DiagnosisInput) -> bool:
    return not inputs.is_in_process or inputs.events is None or inputs.events.num_rows > SEPARATE_FRAME_EVENTS


def _without_untriggered_modes(request: DiagnosisRequest, present: set[str]) -> DiagnosisRequest:
    """Leave out the modes without any trigger event: a detector takes a second whether or not it finds anything."""
    modes = [
        mode for mode in request.modes if not mode.card.trigger_events or present.intersection(mode.card.trigger_events)
    ]
    return replace(request, modes=modes)


def in_time_range(events: DataFrame, request: DiagnosisRequest) -> DataFrame:
    """Keep the requested time. Events without a time stay: settings hold at any time. A group of errors has an end."""
    ends = F.expr("coalesce(try_to_timestamp(labels['until']), at)")
    for bound, is_inside in ((request.since, ends.__ge__), (request.until, F.col("at").__le__)):
        if bound is not None:
            reader = F.col("name").isin(*READER_NAMES) & (F.col("name") != names.SUBJECT_IDLE)
            events = events.where(reader | F.col("at").isNull() | is_inside(F.lit(bound)))
    return events


def _findings(
    events: DataFrame, capture: str, modes: Sequence[Mode], *, listed: ListedFacts, results: DetectorResults
) -> Iterator[tuple[Mode, Finding]]:
    """Yield the finding of each mode, also of the modes whose detector did not run."""
    rows = listed.rows.get(capture, [])
    for mode in modes:
        finding = _complete_finding(mode, capture, rows, results)
        yield mode, _with_changes(events, capture, mode, finding=finding, results=results)


def _complete_finding(mode: Mode, capture: str, rows: Sequence[Row], results: DetectorResults) -> Finding:
    """Return a finding with its matrix, and with the events that are attributed to it."""
    output = results.outputs.get((capture, mode.name), no_output())
    finding = results.finding(capture, mode)
    attributed = attributed_event_counts(rows, mode.name)
    return replace(finding, matrix=make_matrix(mode, output), attributed_events=attributed)


def _with_changes(
    events: DataFrame, capture: str, mode: Mode, *, finding: Finding, results: DetectorResults
) -> Finding:
    """Add the changes around the finding's beginning, where the card names the link that shows that time."""
    output = results.outputs.get((capture, mode.name), no_output())
    began = onset_time(mode.card, output.observations)
    if began is None or finding.verdict is not Verdict.PRESENT:
        return finding
    return replace(finding, changes=changes_around(events.where(F.col("capture") == capture), finding, began))


def _diagnosis(
    scope: ClusterScope,
    files: CaptureFiles,
    facts: ListedFacts,
    *,
    findings: Sequence[tuple[Mode, Finding]],
    request: DiagnosisRequest,
) -> Diagnosis:
    rows, conditions = facts.rows.get(scope.name, []), facts.conditions[scope.name]
    benign = {each.name: each.why for mode, _ in findings for each in mode.card.benign}
    since = (finding.since for _, finding in findings if finding.verdict is Verdict.PRESENT and finding.since)
    listed = listing(rows, benign=benign, incident=min(since, default=None), conditions=conditions)
    reported = (finding for _, finding in findings if finding.verdict is not Verdict.ABSENT)
    return replace(
        listed,
        path=scope.path,
        conditions=tuple(conditions),
        cluster=scope.cluster,
        verdicts={finding.mode: finding.verdict for _, finding in findings},
        absent_reasons={finding.mode: finding.absent_reasons for _, finding in findings if finding.absent_reasons},
        findings=tuple(sorted(reported, key=_sort_key)),
        not_understood=(
            *(each for each in files.skipped if each.file in scope.files),
            *listed.not_understood,
        ),
        notes=(
            *filter(None, [scope.note]),
            *_failure_notes(facts.failed.get(scope.name)),
            *out_of_range_notes(rows, request),
            *_duplicate_notes(scope, files),
            *listed.notes,
        ),
    )


def _failure_notes(error: str | None) -> list[str]:
    if error is None:
        return []
    report = f"This is leadsman's own fault, please report it: {ISSUES}."
    return [f"No conditions are listed: finding them failed ({mask(error)}). {report}"]


def _duplicate_notes(scope: ClusterScope, files: CaptureFiles) -> list[str]:
    """Return the note on files that are in the capture twice."""
    copies = [each for each in files.copies if each.of in scope.files]
    if not copies:
        return []
    named = ", ".join(f"{each.file} (a copy of {each.of})" for each in copies[:COPIES_NAMED])
    more = f" and {len(copies) - COPIES_NAMED} more" if len(copies) > COPIES_NAMED else ""
    holds = count(len(copies), "file holds|files hold")
    return [f"{holds} the content of another file, which was read once: {named}{more}."]


def _sort_key(finding: Finding) -> tuple[int, bool]:
    """Order findings: PRESENT first, then those whose symptom was observed, then the others."""
    return list(Verdict).index(finding.verdict), not finding.chain
