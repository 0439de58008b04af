"""Turns observations into verdicts, alike for every failure mode.

PRESENT: every required link is observed on the same subject, in the chain's order, and no rival stands.
UNKNOWN: the symptom is seen, nothing contradicts the chain, but a required link is not visible in this capture;
         or the capture holds no source that could have shown the symptom at all.
ABSENT:  everything else.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from leadsman.model import (
    EVERY_SUBJECT,
    Cell,
    Evidence,
    FailureMode,
    Finding,
    LinkFinding,
    Point,
    RivalFinding,
    State,
    Verdict,
)
from leadsman.pipeline.shapes import EXPLAINS
from leadsman.telemetry.services import services_of
from leadsman.words import listed, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from leadsman.model import Cure

EVIDENCE_KEPT = 8
"""Lines quoted for one link of a finding."""

SUBJECTS_NAMED = 50
"""Subjects that a finding names one by one; it counts the rest."""

RIVAL = "rival."


@dataclass(frozen=True, slots=True)
class Observation:
    """One row of the detector's answer."""

    subject: str
    link: str
    state: State | None
    since: datetime | None
    until: datetime | None
    figures: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()


def observation(row: Any) -> Observation:  # noqa: ANN401 - Spark's Row has no static type
    """Return a Spark row as an Observation."""
    evidence = tuple(
        Evidence(file=each["file"], line=each["line"], text=each["text"], time=each["at"]) for each in row["evidence"]
    )
    return Observation(
        row["subject"],
        row["link"],
        State(row["state"]) if row["state"] else None,
        row["since"],
        row["until"],
        row["figures"],
        row["facts"],
        evidence,
    )  # fmt: skip - in the order of the fields


def cell(row: Any) -> Cell:  # noqa: ANN401 - Spark's Row has no static type
    """Return a Spark row as a cell of a matrix."""
    return Cell(
        row=row["row"],
        column=row["column"],
        outcome=row["outcome"],
        trouble=row["trouble"],
        says=row["says"] or "",
        file=row["file"] or "",
        line=row["line"] or 0,
    )


def judge(
    mode: str,
    card: FailureMode,
    observations: Iterable[Observation],
    *,
    sources: Iterable[str],
    points: Iterable[Point] = (),
) -> Finding:
    """Return what the observations of one capture amount to. `sources` are the telemetry sources that it holds."""
    seen = [each for each in observations if each.link != EXPLAINS]
    subjects = _by_subject(seen)
    states = {name: _subject_verdict(card, links) for name, links in subjects.items()}
    verdict = _worst(states.values())
    if verdict is Verdict.PRESENT and _standing(card, seen):
        verdict = Verdict.ABSENT
    if not subjects and not set(sources) & set(card.symptom_sources):
        return _blind(mode, card)
    if verdict is Verdict.ABSENT:
        return Finding(mode=mode, verdict=verdict, title=card.title, summary=card.absent)
    chosen = [name for name, state in states.items() if state is verdict]
    return _finding(mode, card, verdict, chosen=chosen, subjects=subjects, seen=seen, points=tuple(points))


def present(card: FailureMode, observations: Sequence[Observation]) -> dict[str, dict[str, Observation]]:
    """Return the links of every subject of which the mode is PRESENT; none where a rival explains everything."""
    seen = [each for each in observations if each.link != EXPLAINS]
    if _standing(card, seen):
        return {}
    return {
        name: links for name, links in _by_subject(seen).items() if _subject_verdict(card, links) is Verdict.PRESENT
    }


def _by_subject(observations: Iterable[Observation]) -> dict[str, dict[str, Observation]]:
    subjects: dict[str, dict[str, Observation]] = {}
    for each in observations:
        if each.subject != EVERY_SUBJECT:
            subjects.setdefault(each.subject, {})[each.link] = each
    return subjects


def _subject_verdict(card: FailureMode, links: Mapping[str, Observation]) -> Verdict:
    required = [links.get(link.id) for link in card.chain if link.required]
    states = [None if each is None else each.state for each in required]
    if State.CONTRADICTED in states or State.OBSERVED not in _symptoms(card, links):
        return Verdict.ABSENT
    if any(state is not State.OBSERVED for state in states):
        return Verdict.UNKNOWN
    starts = [each.since for each in required if each is not None and each.since is not None]
    return Verdict.PRESENT if starts == sorted(starts) else Verdict.ABSENT


def _symptoms(card: FailureMode, links: Mapping[str, Observation]) -> set[State | None]:
    """Return the states of the symptom: the link that the card names, else the last link or the last required one."""
    required = [link.id for link in card.chain if link.required]
    named = {card.symptom} if card.symptom else {required[-1], card.chain[-1].id}
    return {links[name].state for name in named & links.keys()}


def _worst(verdicts: Iterable[Verdict]) -> Verdict:
    found = set(verdicts)
    return next((each for each in Verdict if each in found), Verdict.ABSENT)


def _standing(card: FailureMode, observations: Sequence[Observation]) -> list[str]:
    """Return the rivals that explain everything by themselves."""
    decisive = {RIVAL + rival.id for rival in card.rivals if rival.decisive}
    return [each.link for each in observations if each.link in decisive and each.state is State.OBSERVED]


def _blind(mode: str, card: FailureMode) -> Finding:
    """No source of this capture could have shown the symptom: silence says nothing, and no link was looked at."""
    return Finding(
        mode=mode,
        verdict=Verdict.UNKNOWN,
        title=card.title,
        summary=card.blind,
        next=card.chain[-1].settled_by,
    )


def unjudged(mode: str, card: FailureMode, error: str) -> Finding:
    """Return the finding of a detector that failed on this capture. Nothing is known, whatever the capture shows."""
    return Finding(
        mode=mode,
        verdict=Verdict.UNKNOWN,
        title=card.title,
        summary=f"Not judged: the detector failed on this capture, a fault of leadsman's own ({error}).",
    )


def _finding(
    mode: str,
    card: FailureMode,
    verdict: Verdict,
    *,
    chosen: Sequence[str],
    subjects: Mapping[str, Mapping[str, Observation]],
    seen: Sequence[Observation],
    points: tuple[Point, ...],
) -> Finding:
    numbers = _figures(seen)
    services = services_of((name, _file_of(subjects[name])) for name in chosen)
    known = {**({"services": listed(services)} if services else {}), **numbers}
    chain = tuple(_link(card, index, [subjects[name] for name in chosen], numbers) for index in range(len(card.chain)))
    affected = [each for name in chosen for each in subjects[name].values()]
    unseen = [link for link, told in zip(card.chain, chain, strict=True) if told.state is State.NOT_VISIBLE]
    unsettled = sorted(unseen, key=lambda link: not link.required)  # what the verdict waits for comes first
    return Finding(
        mode=mode,
        verdict=verdict,
        title=_title(card, numbers),
        summary=say(card.summary if verdict is Verdict.PRESENT else card.unsettled, numbers),
        subjects={
            **({"services": services} if services else {}),
            "affected": sorted(chosen)[:SUBJECTS_NAMED],
            "affected_count": len(chosen),
        },
        since=min((each.since for each in affected if each.since), default=None),
        until=max((each.until for each in affected if each.until), default=None),
        figures=numbers,
        chain=chain,
        rivals=tuple(_rival(rival, seen, numbers) for rival in card.rivals),
        cure=tuple(_cures(card, numbers)),
        do_now=tuple(filter(None, (say((step,), known) for step in card.do_now))) if verdict is Verdict.PRESENT else (),
        impact=say(card.impact, known) if verdict is Verdict.PRESENT else "",
        next=unsettled[0].settled_by if unsettled else card.next,
        points=points,
        panels=card.panels,
    )


def _file_of(links: Mapping[str, Observation]) -> str:
    """Return a file that shows anything of a subject."""
    return next((line.file for each in links.values() for line in each.evidence), "")


def _cures(card: FailureMode, numbers: Mapping[str, float | str]) -> Iterator[Cure]:
    """Yield the cures that fit the finding, with what was measured in the place of what holds in general."""
    version = str(numbers.get("version", numbers.get("version_at_least", "")))
    for cure in card.cure:
        if not version or _is_of(cure, _numbers_of(version)):
            measured = say((cure.measured,), numbers) if cure.measured else ""
            yield replace(cure, settings=measured or cure.settings, measured="")


def _is_of(cure: Cure, version: tuple[int, ...]) -> bool:
    """Whether a cure is one of brokers of this version."""
    since, before = _numbers_of(cure.since_version), _numbers_of(cure.before_version)
    return since <= version and (not before or version < before)


def _numbers_of(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


def _title(card: FailureMode, numbers: Mapping[str, float | str]) -> str:
    """Return the card's headline where its figures are there, else its plain title."""
    headline = (card.headline,) if isinstance(card.headline, str) else card.headline
    return say(headline, numbers) or card.title


def _figures(observations: Iterable[Observation]) -> dict[str, float | str]:
    """Return the figures and facts that hold for the whole capture."""
    numbers: dict[str, float | str] = {}
    for each in observations:
        if each.subject == EVERY_SUBJECT:
            numbers |= {**each.figures, **each.facts}
    return numbers


def _link(
    card: FailureMode, index: int, subjects: Sequence[Mapping[str, Observation]], numbers: Mapping[str, float | str]
) -> LinkFinding:
    link = card.chain[index]
    told = [links[link.id] for links in subjects if link.id in links]
    states = {each.state for each in told}
    state = next((each for each in State if each in states), State.NOT_VISIBLE)
    words = {State.OBSERVED: link.observed, State.CONTRADICTED: link.contradicted, State.NOT_VISIBLE: link.not_visible}
    evidence = _spread([each.evidence for each in told if each.state is state])
    return LinkFinding(link=link.id, claim=link.claim, state=state, says=say(words[state], numbers), evidence=evidence)


def _spread(of_subjects: Sequence[Sequence[Evidence]]) -> tuple[Evidence, ...]:
    """Return a few lines of each subject rather than many of one, in the order of time."""
    share = max(2, EVIDENCE_KEPT // max(1, len(of_subjects)))
    chosen = list(dict.fromkeys(line for lines in of_subjects for line in lines[:share]))[:EVIDENCE_KEPT]
    return tuple(sorted(chosen, key=lambda each: (each.time is None, each.time or 0, each.file, each.line)))


def _rival(rival: Any, observations: Iterable[Observation], numbers: Mapping[str, float | str]) -> RivalFinding:  # noqa: ANN401 - model.Rival
    state = next((each.state for each in observations if each.link == RIVAL + rival.id), None)
    if state is State.CONTRADICTED:
        return RivalFinding(cause=rival.cause, ruled_out_by=say(rival.ruled_out, numbers), says="")
    says = rival.stands if state is State.OBSERVED else rival.not_visible
    return RivalFinding(cause=rival.cause, ruled_out_by=None, says=say(says, numbers))
