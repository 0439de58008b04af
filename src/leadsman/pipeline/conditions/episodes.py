"""Episodes: when each partition, broker, group or client was unhealthy.

An episode begins with the first unhealthy sample of a thing (`samples.py`) and ends with the first healthy sample after
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from leadsman.model import Evidence
from leadsman.pipeline.conditions.samples import kinds_healthy_if_any, samples_of_unhealthy_things, samples_query
from leadsman.pipeline.detector_sql import EVIDENCE_LINE, run_steps

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pyspark.sql import DataFrame, Row

    from leadsman.pipeline.conditions.samples import HealthRule

MAX_EPISODES = 300
"""Episodes of one kind that are returned: ten a broker in a cluster of thirty. All of them are counted."""

MAX_NAMES = 20
"""Subjects and details that one episode names."""


class Episode(NamedTuple):
    """A time in which one thing was unhealthy, without a healthy sample in between.

    `since` and `last_seen` are the first and the last unhealthy sample, `until` the first healthy sample after them,
    where that has a time; `ended`: there is such a sample. `occurrences` counts the unhealthy samples. `first_healthy`
    is the first healthy sample of the thing in the whole capture; `recovery_detail` the detail of the sample that ended
    the episode. `first_amount` and `last_amount` are of the first and the last unhealthy sample, `max_amount` and
    `min_amount` of all. `thing_count` and `ongoing_count` count over all episodes of this kind: the things that were
    ever unhealthy, and those that still were at the end.
    """

    kind: str
    thing: str
    since: datetime | None
    last_seen: datetime | None
    until: datetime | None
    ended: bool
    first_healthy: datetime | None
    occurrences: int
    subjects: tuple[str, ...]
    subject_count: int
    details: tuple[str, ...]
    recovery_detail: str | None
    first_amount: float | None
    last_amount: float | None
    max_amount: float | None
    min_amount: float | None
    expected_amount: float | None
    evidence: Evidence
    thing_count: int
    ongoing_count: int

    @property
    def ongoing(self) -> bool:
        """Whether no event shows that the episode ended."""
        return not self.ended

    @property
    def seconds(self) -> float:
        """How long the episode lasted, as far as events show it."""
        end = self.until or self.last_seen
        return (end - self.since).total_seconds() if end and self.since else 0.0

    @property
    def observed_seconds(self) -> float:
        """The time between the first and the last unhealthy sample."""
        return (self.last_seen - self.since).total_seconds() if self.last_seen and self.since else 0.0

    @property
    def mean_interval_seconds(self) -> float:
        """The mean time from one unhealthy sample to the next."""
        return self.observed_seconds / (self.occurrences - 1) if self.occurrences > 1 else 0.0


def find_episodes(events: DataFrame, rules: Sequence[HealthRule], *, many: bool) -> dict[str, list[Episode]]:
    """Return the episodes by capture, ongoing ones and the longest first. Samples without a time belong to their file.

    Where events are `many`, the things that were ever unhealthy are found first, and only those are sampled; Spark then
    ranks and counts the episodes. A few are ranked in this process, which spares the planning of three more windows.
    """
    by_capture: dict[str, list[Episode]] = {}
    if many:
        samples = samples_of_unhealthy_things(events, rules)  # a reference: Connect would drop it
        rows = run_steps({"samples": samples}, {**_steps(rules), **RANKED}).collect() if samples else []
    else:
        steps = {"samples": samples_query(rules), **_steps(rules), **ALL}
        rows = run_steps({"events": events}, steps).collect()
    for row in rows:
        by_capture.setdefault(row["capture"], []).append(_episode(row))
    return by_capture if many else {capture: _ranked(every) for capture, every in by_capture.items()}


def _ranked(episodes: Sequence[Episode]) -> list[Episode]:
    """Return the episodes in their order, with how many things of each kind were unhealthy, ever and at the end."""
    things: dict[str, set[str]] = {}
    ongoing: dict[str, set[str]] = {}
    for each in episodes:
        things.setdefault(each.kind, set()).add(each.thing)
        if each.ongoing:
            ongoing.setdefault(each.kind, set()).add(each.thing)
    counted = [
        each._replace(thing_count=len(things[each.kind]), ongoing_count=len(ongoing.get(each.kind, ())))
        for each in episodes
    ]
    return sorted(counted, key=lambda each: (each.kind, each.ended, -each.seconds, str(each.since), each.thing))


THING = "capture, kind, thing, snapshot"
IN_ORDER = f"PARTITION BY {THING} ORDER BY at, unhealthy DESC, file, line"
"""Unhealthy samples come first of one moment: a broker that is in sync anywhere is not missing."""

STARTS = "NOT coalesce(previous, false) OR CAST(at AS DOUBLE) - CAST(previous_at AS DOUBLE) > gap"
POSITION = "struct(at, file, line)"


def _steps(rules: Sequence[HealthRule]) -> dict[str, str]:
    return {
        "known": f"""
            SELECT capture, at, kind, thing, snapshot, amount, expected_amount, detail, gap, subject, file, line, text,
                coalesce(unhealthy, amount < max(expected_amount) OVER (PARTITION BY {THING})) AS unhealthy
            FROM (SELECT *, IF(at IS NULL, file, '') AS snapshot FROM samples)
        """,
        "compared": f"""
            SELECT *, lag(unhealthy) OVER ({IN_ORDER}) AS previous, lag(at) OVER ({IN_ORDER}) AS previous_at,
                min(IF(unhealthy, NULL, at)) OVER (PARTITION BY {THING}) AS first_healthy,
                max(expected_amount) OVER (PARTITION BY {THING}) AS max_expected_amount
            FROM known WHERE unhealthy IS NOT NULL
        """,
        "numbered": f"SELECT *, sum(IF(unhealthy AND ({STARTS}), 1, 0)) OVER ({IN_ORDER}) AS episode FROM compared",
        "episodes": f"""
            SELECT capture, kind, thing, snapshot, episode, min(IF(unhealthy, at, NULL)) AS since,
                max(IF(unhealthy, at, NULL)) AS last_seen, min(IF(unhealthy, NULL, at)) AS until,
                count_if(NOT unhealthy) > 0 AS ended, min(first_healthy) AS first_healthy,
                count_if(unhealthy) AS occurrences,
                collect_set(IF(unhealthy, subject, NULL)) AS subjects,
                collect_set(IF(unhealthy, detail, NULL)) AS details,
                min_by(IF(unhealthy, NULL, detail), IF(unhealthy, NULL, {POSITION})) AS recovery_detail,
                min_by(IF(unhealthy, amount, NULL), IF(unhealthy, {POSITION}, NULL)) AS first_amount,
                max_by(IF(unhealthy, amount, NULL), IF(unhealthy, {POSITION}, NULL)) AS last_amount,
                max(IF(unhealthy, amount, NULL)) AS max_amount, min(IF(unhealthy, amount, NULL)) AS min_amount,
                max(max_expected_amount) AS expected_amount,
                min_by({EVIDENCE_LINE}, IF(unhealthy, {POSITION}, NULL)) AS example
            FROM numbered GROUP BY capture, kind, thing, snapshot, episode
            HAVING count_if(unhealthy) > 0
                AND NOT coalesce(until <= since, ended AND kind IN ({kinds_healthy_if_any(rules)}))
        """,
    }


COLUMNS = f"""
    capture, kind, thing, since, last_seen, until, ended, first_healthy, occurrences,
    slice(array_sort(subjects), 1, {MAX_NAMES}) AS subjects, size(subjects) AS subject_count,
    slice(array_sort(details), 1, {MAX_NAMES}) AS details, recovery_detail, first_amount, last_amount, max_amount,
    min_amount, expected_amount, example
"""

ALL = {"every": f"SELECT {COLUMNS}, 0 AS thing_count, 0 AS ongoing_count FROM episodes"}

RANKED = {
    "ranked": """
        SELECT *, row_number() OVER (PARTITION BY capture, kind
                ORDER BY ended, coalesce(until, last_seen) - since DESC NULLS LAST, since, thing) AS rank,
            dense_rank() OVER (PARTITION BY capture, kind ORDER BY thing) AS nth,
            dense_rank() OVER (PARTITION BY capture, kind ORDER BY IF(ended, NULL, thing) NULLS FIRST)
                - max(IF(ended, 1, 0)) OVER (PARTITION BY capture, kind) AS nth_ongoing
        FROM episodes
    """,
    "counted": """
        SELECT *, max(nth) OVER (PARTITION BY capture, kind) AS thing_count,
            max(nth_ongoing) OVER (PARTITION BY capture, kind) AS ongoing_count
        FROM ranked
    """,
    "returned": f"""
        SELECT {COLUMNS}, thing_count, ongoing_count FROM counted WHERE rank <= {MAX_EPISODES}
        ORDER BY capture, kind, rank
    """,
}
"""The longest episodes, and how many things there are of each kind: ended episodes have a null thing, which
ranks first and is subtracted."""


def _episode(row: Row) -> Episode:
    fields = row.asDict()
    del fields["capture"]
    example = fields.pop("example")
    line = Evidence(file=example["file"], line=example["line"], text=example["text"] or "", time=example["at"])
    return Episode(
        **{**fields, "subjects": tuple(fields["subjects"]), "details": tuple(fields["details"])}, evidence=line
    )
