"""Takes a collector's probes, once or again and again, and leaves a whole capture however it ends."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from leadsman.waiting import rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from leadsman.collect.collector import Probe
    from leadsman.collect.into import Folder


@dataclass(frozen=True, slots=True)
class Plan:
    """How often: every so often for so long; once where `lasts` is zero."""

    every: timedelta = timedelta(seconds=10)
    lasts: timedelta = timedelta()


@dataclass(slots=True)
class Tally:
    """What came of it: how many probes brought something, and what could not be had, with the reason."""

    taken: int = 0
    missing: dict[str, str] | None = None


def collect(folder: Folder, probes: Iterable[Probe], plan: Plan, say: Callable[[str], None]) -> Tally:
    """Take the probes round by round. A Ctrl-C ends it early; the capture is whole nevertheless."""
    tally = Tally(missing={})
    held = list(probes)
    assert tally.missing is not None
    try:
        for number in rounds(every=plan.every, lasts=plan.lasts):
            for probe in held:
                if number and not probe.again:
                    continue
                say(probe.file)
                why = folder.take(probe)
                tally.taken += why is None
                if why is not None:
                    tally.missing[probe.file] = why
    finally:
        folder.close()
    return tally
