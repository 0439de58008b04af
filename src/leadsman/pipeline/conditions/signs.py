"""From events to runs: from when to when each partition, broker, group, client or host was seen in trouble.

A sign says of one thing at one moment that it is in trouble, or that it is not. A run begins with the first sign of
trouble of a thing and ends with the first sign that all is well again. Everything is one SQL statement.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from leadsman.model import Evidence
from leadsman.pipeline.shapes import quoted, settled, table

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from pyspark.sql import DataFrame, Row

RUNS_KEPT = 300
"""Runs of one kind that are looked at one by one: ten a broker in a cluster of thirty. All of them are counted."""

NAMED = 20
"""Subjects and details that are named of one run."""

ONE_BY_ONE = -1.0
"""`gap_seconds` of signs that are a run each."""

NO_TEXT = "CAST(NULL AS STRING)"
NO_NUMBER = "CAST(NULL AS DOUBLE)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """What events of these names say of one thing. All but `kind` and `names` are SQL over an event's columns.

    `thing` is in trouble where `bad` is true, and well where it is false; null says neither. Where `bad` is null and
    `full` was told of the thing, it is in trouble while `amount` is below it. `gap_seconds` end a run without a sign
    that all is well; None: nothing but such a sign ends it. `at` is when, where it is not the event's own time. An
    event that tells of several things has them as the array `each`, and each is `item` in the rest. `anywhere`: who is
    seen well anywhere at a moment is well then. `healthy` are those of the names that never tell of trouble.
    """

    kind: str
    names: tuple[str, ...]
    thing: str
    bad: str = "true"
    where: str = "true"
    amount: str = NO_NUMBER
    full: str = NO_NUMBER
    detail: str = NO_TEXT
    at: str = "at"
    gap_seconds: float | None = None
    each: str = ""
    anywhere: bool = False
    healthy: tuple[str, ...] = ()


class Run(NamedTuple):
    """How long one thing was in trouble, without a sign in between that all was well.

    `since` and `last` are the first and the last sign of trouble, `until` the first sign that all is well, where that
    has a time; `ended` says whether there is one. `well` is when the thing was first seen well at all, `ended_by` the
    detail of the sign that ended the run. `amount` and `last_amount` are of the first and the last sign, `most` and
    `least` of all; `full` is what signs told as such. `things` and `standing` count, over all runs of this kind, who
    was ever in trouble, and who is to the end.
    """

    kind: str
    thing: str
    since: datetime | None
    last: datetime | None
    until: datetime | None
    ended: bool
    well: datetime | None
    times: int
    subjects: tuple[str, ...]
    subject_count: int
    details: tuple[str, ...]
    ended_by: str | None
    amount: float | None
    last_amount: float | None
    most: float | None
    least: float | None
    full: float | None
    evidence: Evidence
    things: int
    standing: int

    @property
    def stands(self) -> bool:
        """Whether nothing shows that it ended."""
        return not self.ended

    @property
    def seconds(self) -> float:
        """How long it lasted, as far as it was seen."""
        end = self.until or self.last
        return (end - self.since).total_seconds() if end and self.since else 0.0

    @property
    def seen_seconds(self) -> float:
        """The time between the first and the last sign of trouble."""
        return (self.last - self.since).total_seconds() if self.last and self.since else 0.0

    @property
    def distance(self) -> float:
        """The usual seconds from one sign of trouble to the next."""
        return self.seen_seconds / (self.times - 1) if self.times > 1 else 0.0


def runs(events: DataFrame, signs: Sequence[Sign], *, many: bool) -> dict[str, list[Run]]:
    """Return the runs by capture, those that stand and the longest first. What has no time is a look of its own.

    Where events are `many`, Spark leaves out what was never in trouble, and ranks and counts the runs. A few are ranked
    here, which spares the planning of three more windows.
    """
    found: dict[str, list[Run]] = {}
    if many:
        every = "\nUNION ALL\n".join(_signs(alike, names) for names, alike in _by_names(signs).items())
        seen = settled(table({"events": events}, {"signs": every}))  # held here: Spark Connect would drop it
        rows = table({"signs": _of_things_in_trouble(seen, signs)}, {**_steps(signs), **RANKED}).collect()
    else:
        rows = table({"events": events}, {"signs": _signs(signs, names_of(signs)), **_steps(signs), **ALL}).collect()
    for row in rows:
        found.setdefault(row["capture"], []).append(_run(row))
    return found if many else {capture: _ranked(every) for capture, every in found.items()}


def _ranked(found: Sequence[Run]) -> list[Run]:
    """Return the runs in their order, with how many things there are of each kind, in all and to the end."""
    things: dict[str, set[str]] = {}
    standing: dict[str, set[str]] = {}
    for run in found:
        things.setdefault(run.kind, set()).add(run.thing)
        if run.stands:
            standing.setdefault(run.kind, set()).add(run.thing)
    counted = [run._replace(things=len(things[run.kind]), standing=len(standing.get(run.kind, ()))) for run in found]
    return sorted(counted, key=lambda run: (run.kind, run.ended, -run.seconds, str(run.since), run.thing))


def _of_things_in_trouble(seen: DataFrame, signs: Sequence[Sign]) -> DataFrame:
    """Return of the signs `seen` those of things that are ever in trouble: a million others need not be sorted by time.

    Of things that are well where they are well anywhere, one sign a moment is left: a broker has thousands of replicas.
    """
    anywhere = quoted("", *(sign.kind for sign in signs if sign.anywhere))
    steps = {
        "troubled": "SELECT DISTINCT capture, kind, thing FROM seen WHERE bad",
        "concerned": """
            SELECT capture, at, kind, thing, bad, amount, full, detail, gap, subject, file, line, text
            FROM seen LEFT SEMI JOIN troubled USING (capture, kind, thing)
        """,
        "signs": f"""
            SELECT * FROM concerned WHERE kind NOT IN ({anywhere})
            UNION ALL
            SELECT capture, at, kind, thing, bool_and(bad) AS bad, NULL AS amount, NULL AS full, NULL AS detail,
                max(gap) AS gap, min(subject) AS subject, min_by(file, struct(NOT bad, file, line)) AS file,
                min_by(line, struct(NOT bad, file, line)) AS line, min_by(text, struct(NOT bad, file, line)) AS text
            FROM concerned WHERE kind IN ({anywhere}) GROUP BY capture, at, kind, thing, IF(at IS NULL, file, '')
        """,
    }
    return table({"seen": seen}, steps)


def _by_names(signs: Sequence[Sign]) -> dict[frozenset[str], list[Sign]]:
    """Return the signs that events of some names can show, all those of each of them.

    Of a million events of one name, each would be asked for the signs of all others: 50 microseconds instead of 10.
    """
    of_name = {name: tuple(sign for sign in signs if name in sign.names) for name in sorted(names_of(signs))}
    return {
        frozenset(name for name in of_name if of_name[name] == alike): list(alike)
        for alike in dict.fromkeys(of_name.values())
    }


def _signs(signs: Sequence[Sign], of: Collection[str]) -> str:
    """Return the query for all these signs of each event of some names: one pass, however many kinds there are."""
    structs = ", ".join(f"IF({_applies(sign)}, {_struct(sign)}, NULL)" for sign in signs if not sign.each)
    several = [
        f"transform(IF({_applies(sign)}, {sign.each}, NULL), item -> {_struct(sign)})" for sign in signs if sign.each
    ]
    every = (
        f"flatten(filter(array(array({structs}), {', '.join(several)}), some -> some IS NOT NULL))"
        if several
        else f"array({structs})"
    )
    labels = "".join(f", labels['{label}'] AS label_{label}" for label in sorted(set(LABEL.findall(every))))
    every = LABEL.sub(r"label_\1", every)
    return f"""
        SELECT capture, sign.at, sign.kind, sign.thing, sign.bad, sign.amount, sign.full, sign.detail, sign.gap,
            subject, file, line, text
        FROM (SELECT *, explode(filter({every}, sign -> sign.thing IS NOT NULL)) AS sign
            FROM (SELECT *{labels} FROM events WHERE name IN ({quoted(*sorted(of))})))
    """


LABEL = re.compile(r"labels\['(\w+)'\]")
"""Each is looked up once an event, and not for each sign, or for each of its items, with a copy of the whole map."""


def _applies(sign: Sign) -> str:
    return f"name IN ({quoted(*sign.names)}) AND ({sign.where})"


def _struct(sign: Sign) -> str:
    gap = NO_NUMBER if sign.gap_seconds is None else f"{sign.gap_seconds}D"
    return (
        f"struct(CAST({sign.at} AS TIMESTAMP) AS at, '{sign.kind}' AS kind, CAST({sign.thing} AS STRING) AS thing, "
        f"CAST({sign.bad} AS BOOLEAN) AS bad, CAST({sign.amount} AS DOUBLE) AS amount, "
        f"CAST({sign.full} AS DOUBLE) AS full, CAST({sign.detail} AS STRING) AS detail, {gap} AS gap)"
    )


THING = "capture, kind, thing, look"
IN_ORDER = f"PARTITION BY {THING} ORDER BY at, bad DESC, file, line"
"""Of the same moment what is in trouble comes first: a broker that is in sync anywhere is not missing."""

BREAKS = "NOT coalesce(before, false) OR CAST(at AS DOUBLE) - CAST(before_at AS DOUBLE) > gap"
LINE = "struct(file, line, at, text)"
PLACE = "struct(at, file, line)"


def _steps(signs: Sequence[Sign]) -> dict[str, str]:
    anywhere = quoted("", *(sign.kind for sign in signs if sign.anywhere))
    return {
        "known": f"""
            SELECT capture, at, kind, thing, look, amount, full, detail, gap, subject, file, line, text,
                coalesce(bad, amount < max(full) OVER (PARTITION BY {THING})) AS bad
            FROM (SELECT *, IF(at IS NULL, file, '') AS look FROM signs)
        """,
        "stepped": f"""
            SELECT *, lag(bad) OVER ({IN_ORDER}) AS before, lag(at) OVER ({IN_ORDER}) AS before_at,
                min(IF(bad, NULL, at)) OVER (PARTITION BY {THING}) AS well,
                max(full) OVER (PARTITION BY {THING}) AS told
            FROM known WHERE bad IS NOT NULL
        """,
        "numbered": f"SELECT *, sum(IF(bad AND ({BREAKS}), 1, 0)) OVER ({IN_ORDER}) AS run FROM stepped",
        "runs": f"""
            SELECT capture, kind, thing, look, run, min(IF(bad, at, NULL)) AS since, max(IF(bad, at, NULL)) AS last,
                min(IF(bad, NULL, at)) AS until,
                count_if(NOT bad) > 0 AS ended, min(well) AS well, count_if(bad) AS times,
                collect_set(IF(bad, subject, NULL)) AS subjects, collect_set(IF(bad, detail, NULL)) AS details,
                min_by(IF(bad, NULL, detail), IF(bad, NULL, {PLACE})) AS ended_by,
                min_by(IF(bad, amount, NULL), IF(bad, {PLACE}, NULL)) AS amount,
                max_by(IF(bad, amount, NULL), IF(bad, {PLACE}, NULL)) AS last_amount,
                max(IF(bad, amount, NULL)) AS most, min(IF(bad, amount, NULL)) AS least, max(told) AS full,
                min_by({LINE}, IF(bad, {PLACE}, NULL)) AS example
            FROM numbered GROUP BY capture, kind, thing, look, run
            HAVING count_if(bad) > 0 AND NOT coalesce(until <= since, ended AND kind IN ({anywhere}))
        """,
    }


COLUMNS = f"""
    capture, kind, thing, since, last, until, ended, well, times, slice(array_sort(subjects), 1, {NAMED}) AS subjects,
    size(subjects) AS subject_count, slice(array_sort(details), 1, {NAMED}) AS details, ended_by, amount, last_amount,
    most, least, full, example
"""

ALL = {"every": f"SELECT {COLUMNS}, 0 AS things, 0 AS standing FROM runs"}

RANKED = {
    "placed": """
        SELECT *, row_number() OVER (PARTITION BY capture, kind
                ORDER BY ended, coalesce(until, last) - since DESC NULLS LAST, since, thing) AS place,
            dense_rank() OVER (PARTITION BY capture, kind ORDER BY thing) AS nth,
            dense_rank() OVER (PARTITION BY capture, kind ORDER BY IF(ended, NULL, thing) NULLS FIRST)
                - max(IF(ended, 1, 0)) OVER (PARTITION BY capture, kind) AS nth_standing
        FROM runs
    """,
    "counted": """
        SELECT *, max(nth) OVER (PARTITION BY capture, kind) AS things,
            max(nth_standing) OVER (PARTITION BY capture, kind) AS standing
        FROM placed
    """,
    "kept": f"""
        SELECT {COLUMNS}, things, standing FROM counted WHERE place <= {RUNS_KEPT} ORDER BY capture, kind, place
    """,
}
"""The runs that are kept, and how many things there are of each kind: a null stands before the things to the end."""


def _run(row: Row) -> Run:
    told = row.asDict()
    del told["capture"]
    example = told.pop("example")
    line = Evidence(file=example["file"], line=example["line"], text=example["text"] or "", time=example["at"])
    return Run(**{**told, "subjects": tuple(told["subjects"]), "details": tuple(told["details"])}, evidence=line)


def names_of(signs: Collection[Sign]) -> set[str]:
    """Return the names of the events that the signs are made of."""
    return {name for sign in signs for name in sign.names}
