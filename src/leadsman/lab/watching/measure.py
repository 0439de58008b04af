"""Runs an incident while `leadsman watch` follows its telemetry, and measures when its finding began and ended."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leadsman.catalogue import modes_named
from leadsman.lab.run.observed_run import observed, repeated_beside
from leadsman.lab.run.reproduce import run
from leadsman.lab.run.run_context import RECOVERED
from leadsman.lab.watching.live_capture import link_logs, remove_logs
from leadsman.lab.watching.running_watch import RunningWatch, Seen, watching

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.lab.run.observed_run import RunVariant
    from leadsman.lab.run.run_context import RunContext
    from leadsman.lab.watching.incidents import Incident

COLLECTS_EVERY_SECONDS = 5.5
"""After the cure. Longer than the scaled idle limit of `idle_disconnect`, so that its cure is tried each time."""

ENDS_WITHIN = timedelta(seconds=180)
"""After the cure: three times the longest idle time."""

POLL_SECONDS = 0.1
ENDED = ("output resolved", "page resolved", "alertmanager resolved")


@dataclass(slots=True, kw_only=True)
class IncidentTimes:
    """When an incident began, did harm, was cured and was seen, by the lab's clock."""

    began: datetime | None = None
    harmed: datetime | None = None
    cured: datetime | None = None
    seen: Seen = field(default_factory=Seen)


def measure(incident: Incident, progress: Callable[[str], None]) -> dict[str, Any]:
    """Run an incident and return what was seen, in seconds after the first harm and after the cure."""
    (mode,) = modes_named([incident.mode])
    experiment, times = mode.scenario.EXPERIMENT, IncidentTimes()
    healthy = min((mode.folder / "recorded").glob("healthy-*"))
    with tempfile.TemporaryDirectory(prefix="leadsman-watching-") as name:
        folder = Path(name)
        capture, other = folder / "capture", folder / "healthy"
        shutil.copytree(healthy, other)
        progress("Starting the watch")
        with watching(folder, capture=capture, mode=incident.mode, others=[other], idle=incident.idle_time) as watch:
            observer = partial(_observe, incident=incident, times=times, watch=watch)
            changed = observed(experiment, incident.variant, observer)
            outcome = run(changed, out=capture, client=incident.client, variant=incident.variant, progress=progress)
    return _figures(incident, times, dict(outcome.harm))


def _observe(
    context: RunContext, run_variant: RunVariant, *, incident: Incident, times: IncidentTimes, watch: RunningWatch
) -> None:
    """Run the variant, cure it, and let telemetry go on until its finding is resolved."""
    context.failure_seconds = incident.failure_seconds
    times.began = datetime.now(UTC)
    with repeated_beside(partial(_note_times, context, incident, times), every_seconds=POLL_SECONDS):
        run_variant(context)
        incident.cures(context)
        times.cured = context.marks.get(RECOVERED, times.cured or datetime.now(UTC))
        deadline = datetime.now(UTC) + ENDS_WITHIN
        while datetime.now(UTC) < deadline and not watch.seen.times.keys() >= set(ENDED):
            watch.over.wait(COLLECTS_EVERY_SECONDS)  # the interval of collections
            incident.collects(context)
    watch.over.set()
    times.seen = watch.seen
    remove_logs(context)


def _note_times(context: RunContext, incident: Incident, times: IncidentTimes) -> None:
    """Note the harm and its end, and show the logs to the watch."""
    link_logs(context)
    if times.harmed is None:
        found = incident.finds_harm(context)
        times.harmed = datetime.now(UTC) if found is True else found or None
    if times.cured is None and incident.ends(context):
        times.cured = datetime.now(UTC)


def _figures(incident: Incident, times: IncidentTimes, harm: dict[str, int]) -> dict[str, Any]:
    def seconds(what: str, since: datetime | None) -> float | None:
        at = times.seen.times.get(what)
        return None if at is None or since is None else round((at - since).total_seconds(), 1)

    outputs = ("output", "page", "alertmanager")
    began, harmed, cured = times.began, times.harmed, times.cured
    return {
        "mode": incident.mode,
        "variant": incident.variant,
        "day": began.date().isoformat() if began else "",
        "first_harm": incident.first_harm,
        "harm": {kind: count for kind, count in harm.items() if count},
        "title": times.seen.titles.get("output opened", ""),
        "harmed": round((harmed - began).total_seconds(), 1) if began and harmed else None,
        "opened": {each: seconds(f"{each} opened", harmed) for each in outputs},
        "cure": incident.cure,
        "cured": round((cured - harmed).total_seconds(), 1) if cured and harmed else None,
        "idle_seconds": incident.idle_time.total_seconds(),
        "resolved": {each: seconds(f"{each} resolved", cured) for each in outputs},
    }
