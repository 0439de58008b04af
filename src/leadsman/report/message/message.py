"""What a message about a finding holds. It is plain text: secrets masked, control characters spelled out.

What writes it for one receiver escapes that receiver's markup and mentions.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING

from leadsman.model import State, Verdict
from leadsman.redaction import mask
from leadsman.report.text.escaping import escape_control_characters
from leadsman.words import span

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leadsman.model import Diagnosis, Evidence, Finding

MAX_LINES = 3
"""Of evidence: a message is read on a telephone. The page has all."""

MAX_CHARACTERS = 400
"""Of a title, a step or a line. The smallest limit of a receiver for a whole text is Slack's, 3000 for a section."""

MAX_STEPS = 5
"""What a card has at most today; a sixth would make the message longer than Slack's section."""

CUT = " ..."


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofLine:
    """A line of evidence: `where` is its file and line number."""

    where: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingMessage:
    """One finding in short. `cluster` is empty where no cluster is known; `page_url` is a URL, a path, or empty."""

    mode: str
    title: str
    path: str
    cluster: str
    do_now: tuple[str, ...]
    proof: tuple[ProofLine, ...]
    page_url: str = ""
    since: datetime | None = None
    until: datetime | None = None
    impact: str = ""
    reference: str = ""
    """By what a reader recognises a message that came twice; empty for a diagnosis."""

    @property
    def finding_line(self) -> str:
        """The mode, capture, cluster and reference in one line."""
        cluster = f", cluster {self.cluster}" if self.cluster else ""
        reference = f" ({self.reference})" if self.reference else ""
        return f"{self.mode} in {self.path}{cluster}{reference}"

    @property
    def facts(self) -> list[str]:
        """What stands below the title, a line each: the finding, the time and the impact."""
        time = span(self.since, self.until)
        return [
            self.finding_line,
            *([f"Time: {time}"] if time else []),
            *([f"Impact: {self.impact}"] if self.impact else []),
        ]


def present_findings(diagnoses: Sequence[Diagnosis]) -> list[tuple[Diagnosis, Finding]]:
    """Return the findings to report: those that are PRESENT. An UNKNOWN names a command, and is no news."""
    return [
        (diagnosis, finding)
        for diagnosis in diagnoses
        for finding in diagnosis.findings
        if finding.verdict is Verdict.PRESENT
    ]


def is_url(location: str) -> bool:
    """Whether a location is a URL that a browser opens, and no path."""
    return location.startswith(("http://", "https://"))


def message_about(diagnosis: Diagnosis, finding: Finding, *, page_url: str = "") -> FindingMessage:
    """Return the message about a finding."""
    return FindingMessage(
        mode=finding.mode,
        title=plain(finding.title),
        path=plain(diagnosis.path),
        cluster=plain(diagnosis.cluster or ""),
        do_now=tuple(plain(step) for step in finding.do_now[:MAX_STEPS]),
        proof=tuple(
            ProofLine(where=plain(f"{each.file}:{each.line}"), text=plain(each.text)) for each in _proof(finding)
        ),
        page_url=plain(page_url, limit=None),
        since=finding.since,
        until=finding.until,
        impact=plain(finding.impact),
    )


def in_utc(time: datetime) -> datetime:
    """Return a time of a finding with its zone: Spark returns times in UTC without one."""
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time


def plain(text: str, *, limit: int | None = MAX_CHARACTERS) -> str:
    """Return text with secrets masked and control characters spelled out, cut to the limit."""
    safe = escape_control_characters(mask(text))
    return safe if limit is None else shortened(safe, limit)


def shortened(text: str, limit: int) -> str:
    """Return text of at most `limit` characters, marked where it was cut."""
    return text if len(text) <= limit else text[: limit - len(CUT)] + CUT


def _proof(finding: Finding) -> list[Evidence]:
    """Return up to three lines, the first of each observed link: of the first, a middle and the last link of more."""
    links = [link.evidence for link in finding.chain if link.state is State.OBSERVED and link.evidence]
    firsts = list(dict.fromkeys(evidence[0] for evidence in links))
    others = [each for evidence in links for each in evidence if each not in firsts]
    if len(firsts) > MAX_LINES:
        return [firsts[0], firsts[len(firsts) // 2], firsts[-1]]
    return [*firsts, *dict.fromkeys(others)][:MAX_LINES]
