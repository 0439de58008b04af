"""Runs a collector's probes, once or as a series, and leaves a valid capture however the run ends."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

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
    """How many items were collected, and the reason of each item that was not."""

    collected: int = 0
    not_collected: dict[str, str] | None = None


def collect_series(
    folder: CaptureFolder, probes: Iterable[Probe], schedule: CollectionSchedule, show_step: Callable[[str], None]
) -> CollectionResult:
    """Run the probes round by round. A Ctrl-C ends the series early; the capture is valid nevertheless."""
    result = CollectionResult(not_collected={})
    all_probes = list(probes)
    assert result.not_collected is not None
    try:
        for number in rounds(every=schedule.interval, lasts=schedule.duration):
            for probe in all_probes:
                if number and not probe.in_series:
                    continue
                show_step(probe.file)
                why = folder.collect(probe)
                result.collected += why is None
                if why is not None:
                    result.not_collected[probe.file] = why
    finally:
        folder.close()
    return result
