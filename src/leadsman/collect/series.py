"""Runs a collector's probes, once or as a series, and leaves a valid capture however the run ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from leadsman.redaction import mask
from leadsman.waiting import rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from leadsman.collect.capture_folder import CaptureFolder
    from leadsman.collect.collector import Probe


@dataclass(frozen=True, slots=True)
class CollectionSchedule:
    """A series with this interval for this duration; one round where the duration is zero."""

    interval: timedelta = timedelta(seconds=10)
    duration: timedelta = timedelta()


@dataclass(slots=True)
class CollectionResult:
    """How many probes collected something. The reasons by the names of probes that collected nothing, or not all."""

    collected: int = 0
    not_collected: dict[str, str] = field(default_factory=dict)
    incomplete: dict[str, str] = field(default_factory=dict)


def collect_series(
    folder: CaptureFolder, probes: Iterable[Probe], schedule: CollectionSchedule, show_step: Callable[[str], None]
) -> CollectionResult:
    """Run the probes round by round. A Ctrl-C ends the series early; the capture is valid nevertheless."""
    result = CollectionResult()
    all_probes = list(probes)
    try:
        for number in rounds(every=schedule.interval, lasts=schedule.duration):
            for probe in all_probes:
                if number and not probe.in_series:
                    continue
                name = mask(probe.name)
                show_step(name)
                before = folder.texts
                why = folder.collect(probe)
                has_text = folder.texts > before
                result.collected += why is None or has_text
                if why is not None:
                    (result.incomplete if has_text else result.not_collected)[name] = why
    finally:
        folder.close()
    return result
