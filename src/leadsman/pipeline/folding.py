"""Several incidents in one capture: a cause takes its symptoms away from the modes that might name them a cause too.

A PRESENT finding accounts for events: of its subjects, of lines that name its broker, or of all while it lasted, as its
mode's observations say (`shapes.accounted`). The modes of a layer above that found anything are asked again without
what deeper ones account for; and those that only suspect something, without what anybody accounts for. No mode knows
another: each says what it explains, and where its cause sits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from typing import TYPE_CHECKING

from leadsman.model import EVERY_SUBJECT, Layer, Verdict
from leadsman.pipeline.answers import Answer, Answers, ask, silence
from leadsman.pipeline.events import ARROW, texts
from leadsman.pipeline.lean import frame_of
from leadsman.pipeline.shapes import EXPLAINS, table
from leadsman.pipeline.verdicts import judge, present, unjudged

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from pyspark.sql import DataFrame

    from leadsman.catalogue import Mode
    from leadsman.model import FailureMode, Finding
    from leadsman.pipeline.question import Question
    from leadsman.pipeline.verdicts import Observation

AROUND = timedelta(seconds=5)
"""A client tells of one failure in several lines, and of the last a little after it ended."""

CLAIM = {
    "capture": "capture",
    "who": "who",
    "server": "server",
    "names": "split(names, ',')",
    "since": "CAST(since AS TIMESTAMP)",
    "until": "CAST(until AS TIMESTAMP)",
    "mode": "mode",
    "rank": "CAST(rank AS INT)",
}
"""The columns of a claim, out of texts."""

COORDINATOR_BASE = 2_147_483_647
NODE = "coalesce(try_cast(labels['coordinator'] AS BIGINT), try_cast(labels['node'] AS BIGINT))"
SERVER = f"CAST(IF({NODE} > 1000000000, {COORDINATOR_BASE} - {NODE}, {NODE}) AS STRING)"
"""The broker that a line names. Java clients number a coordinator's connection as 2147483647 less its broker."""

ADDRESS = "regexp_replace(labels['address'], '^[^/]*/', '')"
"""Java writes name/address:port; what was asked by address alone names no number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Events that a mode's finding accounts for; None: of anybody, whichever broker is named, without a bound."""

    capture: str
    mode: str
    layer: Layer
    names: tuple[str, ...]
    who: str | None = None
    server: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def rank(self) -> int:
        """What is said of one subject or broker goes before what is said of all, and then the deeper cause."""
        return (0 if self.who else 10 if self.server else 20) + self.layer


@dataclass(slots=True)
class Judged:
    """Answers and findings by capture and mode, and the sources that each capture holds."""

    modes: Mapping[str, Mode]
    sources: Mapping[str, set[str]]
    answers: Answers
    findings: dict[tuple[str, str], Finding]

    def claims(self) -> list[Claim]:
        """Return what the findings account for."""
        return [
            claim
            for (capture, mode), answer in self.answers.items()
            for claim in claims_of(capture, mode, self.modes[mode].card, answer.observations)
        ]

    def finding(self, capture: str, mode: Mode) -> Finding:
        """Return what was found; of a mode that was not asked, what its silence amounts to."""
        asked = self.findings.get((capture, mode.name))
        return asked or _finding(mode, silence(), self.sources.get(capture, set()))

    def take(self, keys: Iterable[tuple[str, str]], answers: Answers) -> None:
        """Put new answers in the place of old ones, and judge them."""
        for capture, name in keys:
            answer = self.answers[capture, name] = answers.get((capture, name), silence())
            self.findings[capture, name] = _finding(self.modes[name], answer, self.sources.get(capture, set()))


def _finding(mode: Mode, answer: Answer, sources: Collection[str]) -> Finding:
    if answer.failed:
        return unjudged(mode.name, mode.card, answer.failed)
    return judge(mode.name, mode.card, answer.observations, sources=sources, points=answer.points)


def investigate(
    events: DataFrame, question: Question, sources: Mapping[str, set[str]], captures: Iterable[str]
) -> Judged:
    """Ask every mode, and then again those that may have taken another's symptoms for their own."""
    judged = Judged({mode.name: mode for mode in question.modes}, sources, {}, {})
    judged.take([(capture, name) for capture in captures for name in judged.modes], ask(events, question))
    for layer in list(Layer)[1:]:
        doubted = [key for key in _found(judged, *Verdict) if judged.modes[key[1]].card.layer is layer]
        deeper = [claim for claim in judged.claims() if claim.layer < layer]
        _ask_again(events, question, judged, doubted=doubted, claims=deeper)
    _ask_again(events, question, judged, doubted=_found(judged, Verdict.UNKNOWN), claims=judged.claims())
    return judged


def _found(judged: Judged, *verdicts: Verdict) -> list[tuple[str, str]]:
    """Return which modes observed anything in which capture, and came to one of these verdicts."""
    wanted = set(verdicts) - {Verdict.ABSENT}
    return [
        key
        for key, finding in judged.findings.items()
        if finding.verdict in wanted and judged.answers[key].observations
    ]


def _ask_again(
    events: DataFrame,
    question: Question,
    judged: Judged,
    *,
    doubted: Sequence[tuple[str, str]],
    claims: Sequence[Claim],
) -> None:
    captures = {claim.capture for claim in claims}
    keys = [key for key in doubted if key[0] in captures]
    if not keys:
        return
    modes = [judged.modes[name] for name in sorted({name for _, name in keys})]
    concerned = events.where(events["capture"].isin(sorted({capture for capture, _ in keys})))
    left = with_causes(concerned, claims).where("explained_by IS NULL").drop("explained_by").persist()
    try:
        judged.take(keys, ask(left, replace(question, modes=modes)))
    finally:
        left.unpersist()


def claims_of(capture: str, mode: str, card: FailureMode, observations: Sequence[Observation]) -> Iterator[Claim]:
    """Yield what a mode's finding accounts for: as its detector says, or else what its own subjects wrote meanwhile."""
    subjects = present(card, observations) if card.explains else {}
    told = [each for each in observations if each.link == EXPLAINS]
    if not subjects:
        return
    for each in told:
        if each.subject in {*subjects, EVERY_SUBJECT}:
            names = tuple(each.facts["names"].split(",")) if "names" in each.facts else card.explains
            about = {key: each.facts.get(key) for key in ("who", "server")}
            yield Claim(
                capture=capture, mode=mode, layer=card.layer, names=names, since=each.since, until=each.until, **about
            )
    for name, links in subjects.items() if not told else ():
        times = [at for each in links.values() for at in (each.since, each.until) if at]
        since, until = min(times, default=None), max(times, default=None)
        yield Claim(
            capture=capture,
            mode=mode,
            layer=card.layer,
            names=card.explains,
            who=name,
            since=since and since - AROUND,
            until=until and until + AROUND,
        )


def with_causes(events: DataFrame, claims: Sequence[Claim]) -> DataFrame:
    """Return the events with the mode that accounts for each, in `explained_by`.

    Only events of a name that is claimed are joined with the claims: of most there are none.
    """
    if not claims:
        return events.selectExpr("*", "CAST(NULL AS STRING) AS explained_by")
    named = "', '".join(sorted({name for claim in claims for name in claim.names}))
    rows = zip(*map(_texts, claims), strict=True)
    claimed = frame_of(events.sparkSession, texts(dict(zip(CLAIM, rows, strict=True))))
    claimed = claimed.selectExpr(*(f"{text} AS {name}" for name, text in CLAIM.items()))
    marked = table({"events": events.where(f"name IN ('{named}')"), "claims": claimed}, STEPS).drop("fitting")
    others = events.where(f"name NOT IN ('{named}')").selectExpr("*", "CAST(NULL AS STRING) AS explained_by")
    return others.unionByName(marked)


def _texts(claim: Claim) -> tuple[str | None, ...]:
    since, until = (None if at is None else at.astimezone(UTC).isoformat() for at in (claim.since, claim.until))
    return claim.capture, claim.who, claim.server, ",".join(claim.names), since, until, claim.mode, str(claim.rank)


HELD = "struct(rank, mode, names, server, since, until)"
FITS = (
    f"array_contains(c.names, name) AND (c.server IS NULL OR c.server IN ({SERVER}, {ADDRESS})) AND "
    "coalesce(at >= c.since, true) AND coalesce(at <= c.until, true)"
)
STEPS = {
    "held": f"SELECT capture, who AS subject, {HELD} AS claim FROM claims",
    "own": "SELECT capture, subject, collect_list(claim) AS own FROM held WHERE subject IS NOT NULL"
    " GROUP BY capture, subject",
    "of_all": "SELECT capture, collect_list(claim) AS of_all FROM held WHERE subject IS NULL GROUP BY capture",
    "fitting": f"""
        SELECT {", ".join(ARROW.names)},
            filter(concat(coalesce(own, array()), coalesce(of_all, array())), c -> {FITS}) AS fitting
        FROM events LEFT JOIN own USING (capture, subject) LEFT JOIN of_all USING (capture)
    """,
    "marked": "SELECT *, get(array_sort(fitting), 0).mode AS explained_by FROM fitting",
}
"""An event without a time happened all the same; of several claims the one of lowest rank counts."""
