"""Attributes events to findings, where a capture holds several incidents: each symptom belongs to one cause.

A PRESENT finding explains events: those of its subjects, those that name its broker, or all events while it lasted, as
its mode's observations state (`explained_events_query`). Detectors of higher layers that observed anything run again
without the events that findings of deeper layers explain. Detectors with verdict UNKNOWN then run again without the
events that any finding explains. No detector runs again that reads none of these events: its output would be the same.
Modes do not know one another: each card names what the mode explains, what its detector reads, and the layer of its
cause.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from typing import TYPE_CHECKING

from leadsman.model import EVERY_SUBJECT, Layer, Verdict
from leadsman.pipeline.detector_sql import EXPLAINS, broker_of_node, materialized, run_steps, sql_literals
from leadsman.pipeline.events import ARROW_SCHEMA, text_table
from leadsman.pipeline.spark.pyspark_startup import create_frame
from leadsman.pipeline.verdict.decide import decide, detector_failed, present_subjects
from leadsman.pipeline.verdict.run_detectors import (
    DetectorOutput,
    DetectorOutputs,
    no_output,
    reads_any,
    run_detectors,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from pyspark.sql import DataFrame

    from leadsman.catalogue import Mode
    from leadsman.model import FailureMode, Finding
    from leadsman.pipeline.request import DiagnosisRequest
    from leadsman.pipeline.verdict.decide import Observation

TOLERANCE = timedelta(seconds=5)
"""A client logs several lines for one failure, the last of them a little after the failure ended."""

RULE_COLUMNS = {
    "capture": "capture",
    "writer": "writer",
    "server": "server",
    "names": "split(names, ',')",
    "since": "CAST(since AS TIMESTAMP)",
    "until": "CAST(until AS TIMESTAMP)",
    "mode": "mode",
    "rank": "CAST(rank AS INT)",
}
"""The columns of a rule, as expressions over columns of text."""

NODE = "coalesce(try_cast(labels['coordinator'] AS BIGINT), try_cast(labels['node'] AS BIGINT))"
SERVER = f"CAST({broker_of_node(NODE)} AS STRING)"
"""The broker that a line names."""

ADDRESS = "regexp_replace(labels['address'], '^[^/]*/', '')"
"""Java writes name/address:port. A connection that was opened by address alone has no broker id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributionRule:
    """Events that a mode's finding explains. None: of any writer, of any broker, without a bound in time."""

    capture: str
    mode: str
    layer: Layer
    names: tuple[str, ...]
    writer: str | None = None
    server: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def rank(self) -> int:
        """Rules for one writer or broker come before rules for all events, then rules of deeper causes."""
        return (0 if self.writer else 10 if self.server else 20) + self.layer


@dataclass(slots=True)
class DetectorResults:
    """The detector outputs and findings by capture and mode, and the sources of each capture."""

    modes: Mapping[str, Mode]
    sources: Mapping[str, set[str]]
    outputs: DetectorOutputs
    findings: dict[tuple[str, str], Finding]
    _rules: list[AttributionRule] | None = None
    """Those of the outputs, until one is replaced: each affected worker has one."""

    def attribution_rules(self) -> list[AttributionRule]:
        """Return the rules of all findings."""
        if self._rules is None:
            self._rules = [
                rule
                for (capture, mode), output in self.outputs.items()
                for rule in attribution_rules_of(capture, mode, self.modes[mode].card, output.observations)
            ]
        return self._rules

    def finding(self, capture: str, mode: Mode) -> Finding:
        """Return the finding of a mode; of a mode whose detector did not run, the finding without observations."""
        finding = self.findings.get((capture, mode.name))
        return finding or _finding(mode, no_output(), self.sources.get(capture, set()))

    def update(self, keys: Iterable[tuple[str, str]], outputs: DetectorOutputs) -> None:
        """Replace the outputs of these captures and modes, and decide their findings again."""
        self._rules = None
        for capture, name in keys:
            output = self.outputs[capture, name] = outputs.get((capture, name), no_output())
            self.findings[capture, name] = _finding(self.modes[name], output, self.sources.get(capture, set()))


def _finding(mode: Mode, output: DetectorOutput, sources: Collection[str]) -> Finding:
    if output.failed:
        return detector_failed(mode.name, mode.card, output.failed, output.trace)
    return decide(mode.name, mode.card, output.observations, sources=sources, points=output.points)


def detector_results(
    events: DataFrame, request: DiagnosisRequest, sources: Mapping[str, set[str]], captures: Iterable[str]
) -> DetectorResults:
    """Run every detector, and run those again whose observations other findings may explain."""
    results = DetectorResults({mode.name: mode for mode in request.modes}, sources, {}, {})
    keys = [(capture, name) for capture in captures for name in results.modes]
    results.update(keys, run_detectors(events, request))
    for layer in list(Layer)[1:]:
        of_layer = [key for key in _with_verdict(results, *Verdict) if results.modes[key[1]].card.layer is layer]
        deeper = [rule for rule in results.attribution_rules() if rule.layer < layer]
        _run_again(events, request, results, keys=of_layer, rules=deeper)
    unknown = _with_verdict(results, Verdict.UNKNOWN)
    _run_again(events, request, results, keys=unknown, rules=results.attribution_rules())
    return results


def _with_verdict(results: DetectorResults, *verdicts: Verdict) -> list[tuple[str, str]]:
    """Return the captures and modes with observations and one of these verdicts. ABSENT is left out."""
    selected = set(verdicts) - {Verdict.ABSENT}
    return [
        key
        for key, finding in results.findings.items()
        if finding.verdict in selected and results.outputs[key].observations
    ]


def _run_again(
    events: DataFrame,
    request: DiagnosisRequest,
    results: DetectorResults,
    *,
    keys: Sequence[tuple[str, str]],
    rules: Sequence[AttributionRule],
) -> None:
    """Run detectors again without the events that the rules explain, in the captures where they read such an event.

    The explained events are looked up only where the rules have the name of an event that one of the detectors reads.
    """
    keys = _readers(results.modes, keys, [(rule.capture, name) for rule in rules for name in rule.names])
    if not keys:
        return
    named, others = _split_by_rules(_of_captures(events, keys), rules)
    attributed = materialized(_attribute(named, rules))  # the embedded engine would attribute again for each query
    try:
        explained = attributed.where("explained_by IS NOT NULL").select("capture", "name").distinct().collect()
        keys = _readers(results.modes, keys, explained)
        if keys:
            unexplained = others.unionByName(attributed.where("explained_by IS NULL").drop("explained_by"))
            _run(_of_captures(unexplained, keys), request, results, keys=keys)
    finally:
        attributed.unpersist()


def _run(
    events: DataFrame, request: DiagnosisRequest, results: DetectorResults, *, keys: Sequence[tuple[str, str]]
) -> None:
    """Replace the results of these captures and modes. Spark plans its queries over one frame that is persisted."""
    modes = [results.modes[name] for name in sorted({name for _, name in keys})]
    persisted = events.persist()
    try:
        results.update(keys, run_detectors(persisted, replace(request, modes=modes)))
    finally:
        persisted.unpersist()


def _readers(
    modes: Mapping[str, Mode], keys: Iterable[tuple[str, str]], events: Iterable[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return the captures and modes whose detector reads one of the events, which are given as captures and names."""
    names: dict[str, set[str]] = defaultdict(set)
    for capture, name in events:
        names[capture].add(name)
    return [(capture, mode) for capture, mode in keys if reads_any(modes[mode].card, names[capture])]


def _of_captures(events: DataFrame, keys: Iterable[tuple[str, str]]) -> DataFrame:
    return events.where(events["capture"].isin(sorted({capture for capture, _ in keys})))


def attribution_rules_of(
    capture: str, mode: str, card: FailureMode, observations: Sequence[Observation]
) -> Iterator[AttributionRule]:
    """Yield the rules of a mode's finding: its detector's, or else all events of its own subjects while it lasted."""
    subjects = present_subjects(card, observations) if card.explains else {}
    stated = [each for each in observations if each.link == EXPLAINS]
    if not subjects:
        return
    for each in stated:
        if each.subject in {*subjects, EVERY_SUBJECT}:
            names = tuple(each.facts["names"].split(",")) if "names" in each.facts else card.explains
            scope = {key: each.facts.get(key) for key in ("writer", "server")}
            yield AttributionRule(
                capture=capture, mode=mode, layer=card.layer, names=names, since=each.since, until=each.until, **scope
            )
    for name, links in subjects.items() if not stated else ():
        times = [at for each in links.values() for at in (each.since, each.until) if at]
        since, until = min(times, default=None), max(times, default=None)
        yield AttributionRule(
            capture=capture,
            mode=mode,
            layer=card.layer,
            names=card.explains,
            writer=name,
            since=since and since - TOLERANCE,
            until=until and until + TOLERANCE,
        )


def attribute_events(events: DataFrame, rules: Sequence[AttributionRule]) -> DataFrame:
    """Return the events with the mode that explains each of them, in the column `explained_by`."""
    no_mode = "CAST(NULL AS STRING) AS explained_by"
    if not rules:
        return events.selectExpr("*", no_mode)
    named, others = _split_by_rules(events, rules)
    return others.selectExpr("*", no_mode).unionByName(_attribute(named, rules))


def _split_by_rules(events: DataFrame, rules: Sequence[AttributionRule]) -> tuple[DataFrame, DataFrame]:
    """Return the events whose name a rule has, which rules may explain, and the others: most events."""
    listed = sql_literals(*sorted({name for rule in rules for name in rule.names}))
    return events.where(f"name IN ({listed})"), events.where(f"name NOT IN ({listed})")


def _attribute(events: DataFrame, rules: Sequence[AttributionRule]) -> DataFrame:
    """Return the events with the column `explained_by`, from a join with the rules."""
    rows = zip(*map(_texts, rules), strict=True)
    frame = create_frame(events.sparkSession, text_table(dict(zip(RULE_COLUMNS, rows, strict=True))))
    rules_frame = frame.selectExpr(*(f"{text} AS {name}" for name, text in RULE_COLUMNS.items()))
    name_servers = any(rule.server is not None for rule in rules)
    return run_steps({"events": events, "rules": rules_frame}, _steps(name_servers=name_servers)).drop("matching")


def _texts(rule: AttributionRule) -> tuple[str | None, ...]:
    since, until = (None if at is None else at.astimezone(UTC).isoformat() for at in (rule.since, rule.until))
    return rule.capture, rule.writer, rule.server, ",".join(rule.names), since, until, rule.mode, str(rule.rank)


RULE_STRUCT = "struct(rank, mode, names, server, since, until)"
NAMES_SERVER = f"(c.server IS NULL OR c.server IN ({SERVER}, {ADDRESS}))"


def _steps(*, name_servers: bool) -> Mapping[str, str]:
    """Return the steps from events and rules to `attributed`. Where rules name no server, no event's is looked for.

    An event without a time matches rules of any time. Of several rules the one of lowest rank counts.
    """
    matches = (
        f"array_contains(c.names, name) AND {NAMES_SERVER if name_servers else 'true'} AND "
        "coalesce(at >= c.since, true) AND coalesce(at <= c.until, true)"
    )
    return {
        "structs": f"SELECT capture, writer AS subject, {RULE_STRUCT} AS rule FROM rules",
        "of_writer": "SELECT capture, subject, collect_list(rule) AS of_writer FROM structs WHERE subject IS NOT NULL"
        " GROUP BY capture, subject",
        "of_all": "SELECT capture, collect_list(rule) AS of_all FROM structs WHERE subject IS NULL GROUP BY capture",
        "matched": f"""
            SELECT {", ".join(ARROW_SCHEMA.names)},
                filter(concat(coalesce(of_writer, array()), coalesce(of_all, array())), c -> {matches}) AS matching
            FROM events LEFT JOIN of_writer USING (capture, subject) LEFT JOIN of_all USING (capture)
        """,
        "attributed": "SELECT *, get(array_sort(matching), 0).mode AS explained_by FROM matched",
    }
