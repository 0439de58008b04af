"""Sentences about a diagnosis that no card holds: certainty, alternatives, the amount of input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leadsman.model import Diagnosis, ErrorGroup, State, Verdict
from leadsman.pipeline.severity import TITLES
from leadsman.vocabulary import BOOTSTRAP_FAILED
from leadsman.words import count, label_with_cluster, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.model import AlternativeFinding, Evidence, Finding

VERDICT_ORDER = (Verdict.PRESENT, Verdict.UNKNOWN, Verdict.ABSENT)

SEVERITY_KEY = (
    "fatal: a program ended or cannot work; lost: a record, commit or response can be missing; "
    "retried: tried again; noise: no harm by itself"
)
"""What the words of `pipeline.severity` mean."""

EVENT_TITLES = {**TITLES, BOOTSTRAP_FAILED: "Bootstrap connection failed"}
"""Titles of events whose lines are not at hand: one bootstrap connection that failed can be one of several."""

COUNT_SUFFIX = "_count"
COMMAND_PREFIX = "leadsman "
REPRODUCE_COMMAND = "leadsman reproduce "
NOT_RULED_OUT = ("Not ruled out", "Cannot be ruled out")
"""How the sentence of an alternative can begin: console and page print this state beside the sentence."""

PRESENT_CONDITION = ", on the same subjects and in the chain's order"
"""What PRESENT requires beyond observed links."""

VERDICT_MEANING: Mapping[Verdict, str] = {
    Verdict.PRESENT: (
        "Every required link was observed, on the same subjects and in the chain's order, and no decisive alternative "
        "was observed."
    ),
    Verdict.UNKNOWN: (
        "The symptom was observed and nothing contradicts the chain, but a required link is not visible; or no source "
        "of the capture could show the symptom."
    ),
    Verdict.ABSENT: (
        "Neither PRESENT nor UNKNOWN: the symptom was not observed, or a required link is contradicted, or a decisive "
        "alternative was observed."
    ),
}
"""The page shows these sentences; README and glossary are generated from them."""


def worst_verdict(diagnosis: Diagnosis) -> Verdict:
    """Return the verdict to show first. UNKNOWN where no mode was evaluated."""
    verdicts = {*diagnosis.verdicts.values(), *(finding.verdict for finding in diagnosis.findings)}
    return next((verdict for verdict in VERDICT_ORDER if verdict in verdicts), Verdict.UNKNOWN)


def diagnosis_titles(diagnoses: Sequence[Diagnosis]) -> list[str]:
    """Return the title of each diagnosis: its path, with the cluster where the diagnoses are of several clusters."""
    entries = Counter(diagnosis.path for diagnosis in diagnoses)
    clusters = {diagnosis.cluster for diagnosis in diagnoses if diagnosis.cluster}
    if len(clusters) <= 1 and entries.total() == len(entries):
        return list(entries)
    return [
        label_with_cluster(each.path, each.cluster) if each.cluster or entries[each.path] > 1 else each.path
        for each in diagnoses
    ]


def is_checked(finding: Finding) -> bool:
    """Whether the capture holds a source that could show the symptom. Else the finding says what to collect alone."""
    return bool(finding.chain or finding.detector_error or finding.verdict is not Verdict.UNKNOWN)


def checked_findings(diagnosis: Diagnosis) -> list[Finding]:
    """Return the findings of the modes that were checked."""
    return [each for each in diagnosis.findings if is_checked(each)]


def unchecked_findings(diagnosis: Diagnosis) -> dict[str, Finding]:
    """Return the findings of the modes that could not be checked, by mode."""
    return {each.mode: each for each in diagnosis.findings if not is_checked(each)}


def finding_title(finding: Finding) -> str:
    """Return the title, which would read as a fact where the verdict is UNKNOWN."""
    return f"Not decided: {finding.title}" if finding.verdict is Verdict.UNKNOWN else finding.title


def headline(diagnosis: Diagnosis) -> str:
    """Return the counts of verdicts in one line, and how many modes could not be checked."""
    tally = Counter(diagnosis.verdicts.values())
    parts = [f"{tally[verdict]} {verdict}" for verdict in VERDICT_ORDER if tally[verdict]]
    if unchecked := len(unchecked_findings(diagnosis)):
        some = "" if unchecked == tally[Verdict.UNKNOWN] else f"{unchecked} "
        unknown = f"{tally[Verdict.UNKNOWN]} {Verdict.UNKNOWN}"
        parts = [f"{part} ({some}not checked)" if part == unknown else part for part in parts]
    if not parts:
        return "No failure mode was evaluated"
    return f"{count(len(diagnosis.verdicts), 'failure mode|failure modes')}: {', '.join(parts)}"


def certainty(finding: Finding) -> str:
    """Return how much of the causal chain was observed, by counting links: no percentages."""
    tally = Counter(link.state for link in finding.chain)
    links = count(len(finding.chain), "link|links")
    if not finding.chain:
        return ""
    condition = PRESENT_CONDITION if finding.verdict is Verdict.PRESENT else ""
    if tally[State.OBSERVED] == len(finding.chain):
        return (
            f"All {links} of the causal chain were observed{condition}."
            if links != "1 link"
            else f"Observed{condition}."
        )
    seen = f"Of {links} of the causal chain: " + ", ".join(f"{tally[s]} {s}" for s in State if tally[s]) + "."
    return f"{seen} Every required link was observed{condition}." if condition else seen


def next_heading(finding: Finding) -> str:
    """Return the heading of the next step: where the verdict is UNKNOWN, the step decides it."""
    if finding.verdict is Verdict.UNKNOWN:
        return "To find out"
    return "Reproduce this failure" if REPRODUCE_COMMAND in finding.next else "Next"


def next_step(finding: Finding) -> tuple[str, str]:
    """Split the next step into its sentence and its command; the command is empty where the step has none."""
    prose, prefix, arguments = finding.next.partition(COMMAND_PREFIX)
    return prose.rstrip().removesuffix(":"), f"{COMMAND_PREFIX}{arguments}" if prefix else ""


def alternative_state(alternative: AlternativeFinding) -> str:
    """Return what the capture says of an alternative."""
    if alternative.is_observed:
        return "observed"
    return "cannot be ruled out" if alternative.ruled_out_by is None else "ruled out"


def alternative_text(alternative: AlternativeFinding) -> str:
    """Return why an alternative is ruled out, or why it is not, as a sentence without the words "ruled out"."""
    text = alternative.explanation
    for prefix in NOT_RULED_OUT:
        text = text.removeprefix(prefix)
    text = text.lstrip(":. ")
    text = text[:1].upper() + text[1:]
    same = alternative.ruled_out_by in {None, alternative.explanation}
    return text if same else f"{alternative.ruled_out_by} {text}"


@dataclass(frozen=True, slots=True)
class EvidenceQuote:
    """A line of evidence on the page. A repeated line is a reference to the first, whose HTML id is `html_id`."""

    evidence: Evidence
    html_id: str
    is_repeated: bool


def evidence_quotes(finding: Finding, prefix: str) -> list[list[EvidenceQuote]]:
    """Return the quotes of each link. One line often supports two links."""
    html_ids: dict[Evidence, str] = {}
    chain: list[list[EvidenceQuote]] = []
    for link in finding.chain:
        known = frozenset(html_ids)
        for evidence in link.evidence:
            html_ids.setdefault(evidence, f"{prefix}e{len(html_ids) + 1}")
        chain.append([EvidenceQuote(evidence, html_ids[evidence], evidence in known) for evidence in link.evidence])
    return chain


def other_verdicts(diagnosis: Diagnosis) -> Mapping[str, Verdict]:
    """Return the verdicts of modes that have neither a finding nor reasons."""
    modes_with_finding = {finding.mode for finding in diagnosis.findings} | diagnosis.absent_reasons.keys()
    return {mode: verdict for mode, verdict in diagnosis.verdicts.items() if mode not in modes_with_finding}


def amount_read(diagnosis: Diagnosis) -> str:
    """Return how many files, bytes and lines were read, and how many files or parts of files were not understood."""
    amounts = [count(diagnosis.files, "file files"), size(diagnosis.bytes), count(diagnosis.lines, "line lines")]
    if diagnosis.not_understood:
        amounts.append(f"{count(len(diagnosis.not_understood))} not understood")
    return ", ".join(amounts)


def subject_rows(finding: Finding, at_most: int) -> list[tuple[str, str]]:
    """Return the subjects of a finding as label and text; a long list ends with the count of the omitted names.

    `affected_count` beside a list `affected` is the count of all, where the list itself was cut. The last row are the
    events that the finding explains: its symptoms, which are listed nowhere else.
    """
    subjects = finding.subjects
    rows = [
        (label.replace("_", " "), _list_text(value, at_most, subjects.get(f"{label}{COUNT_SUFFIX}")))
        for label, value in subjects.items()
        if label.removesuffix(COUNT_SUFFIX) == label or label.removesuffix(COUNT_SUFFIX) not in subjects
    ]
    events = [f"{EVENT_TITLES.get(each.name, each.name)} ({count(each.count)})" for each in finding.attributed_events]
    return [*rows, ("explained errors", _list_text(events, at_most, None))] if events else rows


def _list_text(value: object, at_most: int, total: object) -> str:
    if isinstance(value, Mapping):
        return _list_text([_name_with_count(key, number) for key, number in value.items()], at_most, total)
    if not isinstance(value, list | tuple | set | frozenset):
        return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    names = [str(entry) for entry in (value if isinstance(value, list | tuple) else sorted(value, key=str))]
    omitted = (total if isinstance(total, int) else len(names)) - len(names[:at_most])
    return ", ".join(names[:at_most]) + (f" and {count(omitted)} more" if omitted > 0 else "")


def _name_with_count(name: object, number: object) -> str:
    """Return a name, with the number of its subjects where that is not one: `billing (3 subjects)`."""
    return (
        str(name)
        if number == 1
        else f"{name} ({count(number, 'subject subjects') if isinstance(number, int) else number})"
    )


def severity_text(group: ErrorGroup) -> str:
    """Return the severity of a group of errors, and whether it is new: `lost, new`."""
    return ", ".join(filter(None, (group.severity, "new" if group.is_new else "")))


def count_text(group: ErrorGroup, times: str) -> str:
    """Return count and kind of a group of errors: `12 x kind`."""
    return f"{count(group.count)} {times} {group.kind}"
