"""What console and page both say about a diagnosis beyond what its card says: how sure, what else, what was read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leadsman.model import Diagnosis, ErrorGroup, State, Verdict
from leadsman.words import count, in_cluster, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.model import Evidence, Finding, RivalFinding

WORST_FIRST = (Verdict.PRESENT, Verdict.UNKNOWN, Verdict.ABSENT)

COUNT = "_count"
COMMAND = "leadsman "
OPEN = "Not ruled out"

SURE = ", on the same subjects and in the right order"
"""What PRESENT means beyond the counting of links."""

MEANING: Mapping[Verdict, str] = {
    Verdict.PRESENT: "Every required link of the chain was observed, on the same subjects and in the right order.",
    Verdict.UNKNOWN: "The capture does not show enough to say either yes or no.",
    Verdict.ABSENT: "What would have shown it was read, and it is not there.",
}


def worst(diagnosis: Diagnosis) -> Verdict:
    """Pick the verdict that a reader must hear first. Where no mode was looked for nothing is known."""
    verdicts = {*diagnosis.verdicts.values(), *(finding.verdict for finding in diagnosis.findings)}
    return next((verdict for verdict in WORST_FIRST if verdict in verdicts), Verdict.UNKNOWN)


def titles(diagnoses: Sequence[Diagnosis]) -> list[str]:
    """Name each diagnosis: by its path, and where they are of several clusters by its cluster too."""
    entries = Counter(diagnosis.path for diagnosis in diagnoses)
    clusters = {diagnosis.cluster for diagnosis in diagnoses if diagnosis.cluster}
    if len(clusters) <= 1 and entries.total() == len(entries):
        return list(entries)
    return [
        in_cluster(each.path, each.cluster) if each.cluster or entries[each.path] > 1 else each.path
        for each in diagnoses
    ]


def headline(diagnosis: Diagnosis) -> str:
    """Say in one line what came out."""
    tally = Counter(diagnosis.verdicts.values())
    parts = [f"{tally[verdict]} {verdict}" for verdict in WORST_FIRST if tally[verdict]]
    if not parts:
        return "No failure mode was looked for"
    return f"{count(len(diagnosis.verdicts), 'failure mode|failure modes')}: {', '.join(parts)}"


def sureness(finding: Finding) -> str:
    """Say how much of the causal chain was seen, by counting links: no percentages."""
    tally = Counter(link.state for link in finding.chain)
    links = count(len(finding.chain), "link|links")
    if not finding.chain:
        return ""
    sure = SURE if finding.verdict is Verdict.PRESENT else ""
    if tally[State.OBSERVED] == len(finding.chain):
        return f"All {links} of the causal chain were observed{sure}." if links != "1 link" else f"Observed{sure}."
    seen = f"Of {links} of the causal chain: " + ", ".join(f"{tally[s]} {s}" for s in State if tally[s]) + "."
    return f"{seen} Every required one was observed{sure}." if sure else seen


def next_step(finding: Finding) -> tuple[str, str]:
    """Part the next step into what to do and the command that does it, where there is one."""
    prose, found, arguments = finding.next.partition(COMMAND)
    return prose.rstrip().removesuffix(":"), f"{COMMAND}{arguments}" if found else ""


def about(rival: RivalFinding) -> str:
    """Say why a rival is ruled out, or why not, each sentence once and without repeating which of the two it is."""
    said = rival.says.removeprefix(OPEN).lstrip(":. ")
    return said if rival.ruled_out_by in {None, rival.says} else f"{rival.ruled_out_by} {said}"


@dataclass(frozen=True, slots=True)
class Quote:
    """A line of evidence where it is shown: in full at its first place, by reference to that place at any later."""

    evidence: Evidence
    place: str
    again: bool


def quotes(finding: Finding, prefix: str) -> list[list[Quote]]:
    """Give each line of evidence of each link its place: one line often supports two links."""
    places: dict[Evidence, str] = {}
    chain: list[list[Quote]] = []
    for link in finding.chain:
        known = frozenset(places)
        for evidence in link.evidence:
            places.setdefault(evidence, f"{prefix}e{len(places) + 1}")
        chain.append([Quote(evidence, places[evidence], evidence in known) for evidence in link.evidence])
    return chain


def rest(diagnosis: Diagnosis) -> Mapping[str, Verdict]:
    """Select the verdicts of modes that have no finding of their own."""
    shown = {finding.mode for finding in diagnosis.findings}
    return {mode: verdict for mode, verdict in diagnosis.verdicts.items() if mode not in shown}


def what_was_read(diagnosis: Diagnosis) -> str:
    """Say how much was read."""
    amounts = (count(diagnosis.files, "file files"), size(diagnosis.bytes), count(diagnosis.lines, "line lines"))
    return ", ".join(amounts)


def subject_rows(finding: Finding, at_most: int) -> list[tuple[str, str]]:
    """List who is concerned, as label and text; long lists end in a count of what was left out.

    `affected_count` beside a list `affected` says how many there are in all, where the list itself was cut. Last comes
    what the finding accounts for: its symptoms, which are listed nowhere else.
    """
    told = finding.subjects
    rows = [
        (label.replace("_", " "), _listed(value, at_most, told.get(f"{label}{COUNT}")))
        for label, value in told.items()
        if label.removesuffix(COUNT) == label or label.removesuffix(COUNT) not in told
    ]
    folded = [f"{count(each.count)} {each.name}" for each in finding.accounts_for]
    return [*rows, ("accounts for", _listed(folded, at_most, None))] if folded else rows


def _listed(value: object, at_most: int, total: object) -> str:
    if isinstance(value, Mapping):
        return _listed([f"{key} ({entry})" for key, entry in value.items()], at_most, total)
    if not isinstance(value, list | tuple | set | frozenset):
        return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    names = [str(entry) for entry in (value if isinstance(value, list | tuple) else sorted(value, key=str))]
    left_out = (total if isinstance(total, int) else len(names)) - len(names[:at_most])
    return ", ".join(names[:at_most]) + (f" and {count(left_out)} more" if left_out > 0 else "")


def group_standing(group: ErrorGroup) -> str:
    """Say how bad errors of a kind are, and whether they are new: `lost, new`."""
    return ", ".join(filter(None, (group.severity, "new" if group.novel else "")))


def group_amount(group: ErrorGroup, times: str) -> str:
    """Say how often and what: `12 x kind`."""
    return f"{count(group.count)} {times} {group.kind}"
