"""Diagnoses for the tests of findings' lives: what harmed whom when, without a detector."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from leadsman.model import Diagnosis, Evidence, Finding, LinkFinding, State, Verdict

MODE = "idle_disconnect"
BEGIN = datetime(2026, 2, 16, 12, tzinfo=UTC)


def at(minutes: float) -> datetime:
    """A time of the telemetry, and of the clock."""
    return BEGIN + timedelta(minutes=minutes)


def harmed(*minutes: float, subjects: int = 1, verdict: Verdict = Verdict.PRESENT, **more: Any) -> Finding:
    """A finding with harm at these minutes."""
    lines = tuple(Evidence(file="app.log", line=round(each) + 1, text="ERROR lost", time=at(each)) for each in minutes)
    link = LinkFinding(
        link="lost", claim="A record was lost.", state=State.OBSERVED, explanation="", evidence=lines[-8:]
    )
    return Finding(
        mode=more.pop("mode", MODE),
        verdict=verdict,
        title=more.pop("title", f"{len(minutes)} records lost"),
        summary="Records were lost.",
        since=at(min(minutes)),
        until=at(max(minutes)),
        subjects={"affected": [f"worker-{each}" for each in range(min(subjects, 3))], "affected_count": subjects},
        chain=(link,),
        do_now=("Restart the workers.",),
        **more,
    )


def diagnosed(*findings: Finding, until: float, path: str = "logs", cluster: str | None = None) -> Diagnosis:
    """A diagnosis of telemetry up to a minute; modes without a finding are ABSENT."""
    verdicts = {MODE: Verdict.ABSENT, **{each.mode: each.verdict for each in findings}}
    return Diagnosis(path=path, cluster=cluster, verdicts=verdicts, findings=findings, until=at(until))
