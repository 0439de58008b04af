"""Turns observations into verdicts, by the same rules for every failure mode.

PRESENT: every required link is observed on the same subject, in the chain's order, and no decisive alternative is.
UNKNOWN: the symptom is observed, no link is contradicted, but a required link is not visible in this capture;
         or the capture holds no source that could have shown the symptom at all.
ABSENT:  everything else.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from leadsman.errors import ISSUES
from leadsman.model import (
    DETECTOR_ERRORS,
    EVERY_SUBJECT,
    AlternativeFinding,
    Cell,
    Evidence,
    FailureMode,
    Finding,
    LinkFinding,
    Point,
    State,
    Verdict,
)
from leadsman.pipeline.detector_sql import EXPLAINS
from leadsman.redaction import mask
from leadsman.telemetry.services import count_services
from leadsman.telemetry.source import symptom_sources
from leadsman.words import join_names, render

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from leadsman.model import Alternative, Cure

EVIDENCE_KEPT = 8
"""Lines quoted for one link of a finding."""

SUBJECTS_NAMED = 50
"""Subjects that a finding names; all of them are counted."""

ALTERNATIVE_PREFIX = "alternative."
"""The link of an observation of an alternative: this prefix and the alternative's id."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One row of a detector's observations."""

    subject: str
    link: str
    state: State | None
    since: datetime | None
    until: datetime | None
    figures: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()


def observation_from_row(row: Sequence[Any]) -> Observation:
    """Return the columns of `OBSERVATION` behind the capture as an Observation.

    By place: to look a column of a Spark row up by its name takes half a microsecond.
    """
    subject, link, state, since, until, figures, facts, lines = row
    evidence = tuple([Evidence(file=file, line=line, text=text, time=at) for file, line, at, text in lines])
    return Observation(subject, link, State(state) if state else None, since, until, figures, facts, evidence)


def cell_from_row(row: Any) -> Cell:  # noqa: ANN401 - Spark's Row has no static type
    """Return a Spark row as a cell of a matrix."""
    return Cell(
        row=row["row"],
        column=row["column"],
        outcome=row["outcome"],
        is_harm=row["is_harm"],
        explanation=row["explanation"] or "",
        file=row["file"] or "",
        line=row["line"] or 0,
    )


def decide(
    mode: str,
    card: FailureMode,
    observations: Iterable[Observation],
    *,
    sources: Iterable[str],
    points: Iterable[Point] = (),
) -> Finding:
    """Return the finding for the observations of one capture. `sources` are the capture's telemetry sources."""
    of_chain = [each for each in observations if each.link != EXPLAINS]
    subjects = _by_subject(of_chain)
    verdicts = {name: _subject_verdict(card, links) for name, links in subjects.items()}
    verdict = _most_certain(verdicts.values())
    if verdict is Verdict.PRESENT and _observed_alternatives(card, of_chain):
        verdict = Verdict.ABSENT
    if not subjects and not symptom_sources(card.symptom_events) & set(sources):
        return _no_source(mode, card)
    if verdict is Verdict.ABSENT:
        reasons = tuple(dict.fromkeys(_absent_reasons(card, of_chain, subjects.values())))
        return Finding(mode=mode, verdict=verdict, title=card.title, summary=card.absent, absent_reasons=reasons)
    affected = {name: subjects[name] for name, each in verdicts.items() if each is verdict}
    return _finding(mode, card, verdict, affected=affected, observations=of_chain, points=tuple(points))


def present_subjects(card: FailureMode, observations: Sequence[Observation]) -> dict[str, dict[str, Observation]]:
    """Return the links of every subject with verdict PRESENT; none where a decisive alternative is observed."""
    of_chain = [each for each in observations if each.link != EXPLAINS]
    if _observed_alternatives(card, of_chain):
        return {}
    return {
        name: links for name, links in _by_subject(of_chain).items() if _subject_verdict(card, links) is Verdict.PRESENT
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
    return Verdict.ABSENT if _starts_late(card, links) else Verdict.PRESENT


def _starts_late(card: FailureMode, links: Mapping[str, Observation]) -> bool:
    """Say whether a required link began before the link that precedes it in the chain."""
    required = [links[link.id] for link in card.chain if link.required and link.id in links]
    starts = [each.since for each in required if each.since is not None]
    return starts != sorted(starts)


def _symptoms(card: FailureMode, links: Mapping[str, Observation], *, harm: bool = False) -> set[State | None]:
    """Return the states of the symptom: the link that the card names, else the last link and the last required one.

    `harm`: with the last link in any case.
    """
    required = [link.id for link in card.chain if link.required]
    ids = {card.symptom} if card.symptom else {required[-1], card.chain[-1].id}
    ids |= {card.chain[-1].id} if harm else set()
    return {links[name].state for name in ids & links.keys()}


def _absent_reasons(
    card: FailureMode, observations: Sequence[Observation], subjects: Iterable[Mapping[str, Observation]]
) -> Iterator[str]:
    """Yield why the mode is ABSENT although its symptom, or its harm, was observed; nothing where neither was.

    An observed alternative says more than the links that it contradicts: these are named where there is none.
    """
    figures, observed = _figures(observations), {each.link for each in observations if each.state is State.OBSERVED}
    with_symptom = [links for links in subjects if State.OBSERVED in _symptoms(card, links, harm=True)]
    causes = [each for each in card.alternatives if ALTERNATIVE_PREFIX + each.id in observed] if with_symptom else []
    for each in sorted(causes, key=lambda each: not each.decisive):
        yield _sentences(each.cause, render(each.observed, figures))
    if with_symptom and not causes:
        yield from _contradictions(card, with_symptom, figures)


def _contradictions(
    card: FailureMode, subjects: Sequence[Mapping[str, Observation]], figures: Mapping[str, float | str]
) -> Iterator[str]:
    """Yield which required links are contradicted for every subject, or that their order is."""
    for link in (link for link in card.chain if link.required):
        states = {links[link.id].state for links in subjects if link.id in links}
        if State.CONTRADICTED in states and State.OBSERVED not in states:
            yield render(link.contradicted, figures) or f"Contradicted: {link.claim}"
    if all(_starts_late(card, links) for links in subjects):
        yield "The symptom began before its cause."


def _sentences(*parts: str) -> str:
    return " ".join(part if part.endswith(".") else f"{part}." for part in parts if part)


def _most_certain(verdicts: Iterable[Verdict]) -> Verdict:
    """Return PRESENT before UNKNOWN before ABSENT."""
    every = set(verdicts)
    return next((each for each in Verdict if each in every), Verdict.ABSENT)


def _observed_alternatives(card: FailureMode, observations: Sequence[Observation]) -> list[str]:
    """Return the decisive alternatives that are observed: each of them explains all symptoms."""
    decisive = {ALTERNATIVE_PREFIX + each.id for each in card.alternatives if each.decisive}
    return [each.link for each in observations if each.link in decisive and each.state is State.OBSERVED]


def _no_source(mode: str, card: FailureMode) -> Finding:
    """Return the finding for a capture without any source that could have shown the symptom."""
    return Finding(
        mode=mode,
        verdict=Verdict.UNKNOWN,
        title=card.title,
        summary=card.no_source,
        next=card.no_source_next or card.chain[-1].collect_command,
    )


def detector_failed(mode: str, card: FailureMode, error: str, trace: str) -> Finding:
    """Return the finding for a capture on which the detector failed: UNKNOWN. `trace` is the error's stack trace."""
    return Finding(
        mode=mode,
        verdict=Verdict.UNKNOWN,
        title=card.title,
        summary=(
            f"Not evaluated: the detector failed on this capture ({mask(error)}). This is leadsman's own fault, "
            f"please report it: {ISSUES}. The folder of --out has the stack trace, in {DETECTOR_ERRORS}."
        ),
        detector_error=mask(trace),
    )


def _finding(
    mode: str,
    card: FailureMode,
    verdict: Verdict,
    *,
    affected: Mapping[str, Mapping[str, Observation]],
    observations: Sequence[Observation],
    points: tuple[Point, ...],
) -> Finding:
    figures = _figures(observations)
    services = count_services((name, _file_of(links)) for name, links in affected.items())
    known = {**({"services": join_names(services)} if services else {}), **figures}
    chain = tuple(_link(card, index, list(affected.values()), figures) for index in range(len(card.chain)))
    of_affected = [each for links in affected.values() for each in links.values()]
    not_visible = [link for link, each in zip(card.chain, chain, strict=True) if each.state is State.NOT_VISIBLE]
    not_visible.sort(key=lambda link: not link.required)  # the links that the verdict depends on come first
    return Finding(
        mode=mode,
        verdict=verdict,
        title=_title(card, figures),
        summary=render(card.summary if verdict is Verdict.PRESENT else card.unknown, figures),
        subjects={
            **({"services": services} if services else {}),
            "affected": sorted(affected)[:SUBJECTS_NAMED],
            "affected_count": len(affected),
        },
        since=min((each.since for each in of_affected if each.since), default=None),
        until=max((each.until for each in of_affected if each.until), default=None),
        figures=figures,
        chain=chain,
        alternatives=tuple(_alternative(each, observations, figures) for each in card.alternatives),
        cure=tuple(_cures(card, figures)),
        do_now=tuple(filter(None, (render((step,), known) for step in card.do_now)))
        if verdict is Verdict.PRESENT
        else (),
        impact=render(card.impact, known) if verdict is Verdict.PRESENT else "",
        next=not_visible[0].collect_command if not_visible else render(card.next, known),
        points=points,
        panels=card.panels,
        chart_words=card.chart_words,
    )


def _file_of(links: Mapping[str, Observation]) -> str:
    """Return a file with evidence of a subject, or the one that its facts name where none of its lines is quoted."""
    quoted = (line.file for each in links.values() for line in each.evidence)
    named = (each.facts["file"] for each in links.values() if "file" in each.facts)
    return next(itertools.chain(quoted, named), "")


def _cures(card: FailureMode, figures: Mapping[str, float | str]) -> Iterator[Cure]:
    """Yield the cures that fit the brokers' version, with measured settings in place of the general ones."""
    version = str(figures.get("version", figures.get("version_at_least", "")))
    for cure in card.cure:
        if not version or _fits_version(cure, _parse_version(version)):
            settings = render((cure.measured_settings,), figures) if cure.measured_settings else ""
            why = render((cure.measured_why,), figures) if cure.measured_why else ""
            measured = {"settings": settings or cure.settings, "why": why or cure.why}
            yield replace(cure, **measured, measured_settings="", measured_why="")


def _fits_version(cure: Cure, version: tuple[int, ...]) -> bool:
    """Say whether a cure is for brokers of this version."""
    since, before = _parse_version(cure.since_version), _parse_version(cure.before_version)
    return since <= version and (not before or version < before)


def _parse_version(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


def _title(card: FailureMode, figures: Mapping[str, float | str]) -> str:
    """Return the card's headline where all its figures are known, else its plain title."""
    headline = (card.headline,) if isinstance(card.headline, str) else card.headline
    return render(headline, figures) or card.title


def _figures(observations: Iterable[Observation]) -> dict[str, float | str]:
    """Return the figures and facts that hold for the whole capture."""
    figures: dict[str, float | str] = {}
    for each in observations:
        if each.subject == EVERY_SUBJECT:
            figures |= {**each.figures, **each.facts}
    return figures


def _link(
    card: FailureMode, index: int, subjects: Sequence[Mapping[str, Observation]], figures: Mapping[str, float | str]
) -> LinkFinding:
    link = card.chain[index]
    observations = [links[link.id] for links in subjects if link.id in links]
    states = {each.state for each in observations}
    state = next((each for each in State if each in states), State.NOT_VISIBLE)
    templates = {
        State.OBSERVED: link.observed,
        State.CONTRADICTED: link.contradicted,
        State.NOT_VISIBLE: link.not_visible,
    }
    evidence = _select_evidence([each.evidence for each in observations if each.state is state])
    return LinkFinding(
        link=link.id, claim=link.claim, state=state, explanation=render(templates[state], figures), evidence=evidence
    )


def _select_evidence(of_subjects: Sequence[Sequence[Evidence]]) -> tuple[Evidence, ...]:
    """Return a few lines of each subject rather than many of one subject, by time."""
    share = max(2, EVIDENCE_KEPT // max(1, len(of_subjects)))
    selected = list(dict.fromkeys(line for lines in of_subjects for line in lines[:share]))[:EVIDENCE_KEPT]
    return tuple(sorted(selected, key=lambda each: (each.time is None, each.time or 0, each.file, each.line)))


def _alternative(
    alternative: Alternative, observations: Iterable[Observation], figures: Mapping[str, float | str]
) -> AlternativeFinding:
    state = next((each.state for each in observations if each.link == ALTERNATIVE_PREFIX + alternative.id), None)
    if state is State.CONTRADICTED:
        ruled_out_by = render(alternative.ruled_out, figures)
        return AlternativeFinding(cause=alternative.cause, ruled_out_by=ruled_out_by, explanation="")
    is_observed = state is State.OBSERVED
    explanation = render(alternative.observed if is_observed else alternative.not_visible, figures)
    return AlternativeFinding(
        cause=alternative.cause, ruled_out_by=None, explanation=explanation, is_observed=is_observed
    )
