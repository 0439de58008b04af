"""What the workers of a simulated day did: invocations, freezes, replaced Kafka producers and failures."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from account_linking.demo.emulator.environment import Environment, PastInvocation
    from account_linking.demo.emulator.event_source_mapping import EventSourceMapping

EXPIRED: Final = re.compile(
    r"^\[\w+\]\t(?P<at>\S+Z)\t\S*\tkafka-producer #\d+ expired reason=(?P<reason>\w+)(?: seconds=(?P<idle>[\d.]+))?",
    re.MULTILINE,
)
"""A log line of leadsman_clients: a producer is no longer given out; `seconds` is the idle time before."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """A Kafka producer that was replaced before it was used again: when, why, and its idle seconds before."""

    at: float
    reason: str
    idle_seconds: float


@dataclass(frozen=True, slots=True)
class WorkerHistory:
    """One worker: its invocations in their order, and the producers that it replaced. Times are Unix seconds."""

    number: int
    invocations: Sequence[PastInvocation]
    replacements: Sequence[Replacement]

    @property
    def freezes(self) -> Iterator[tuple[float, float]]:
        """Yield when the worker was frozen: from the end of an invocation to the start of the next."""
        for before, after in pairwise(self.invocations):
            yield before.ended, after.began

    @property
    def longest_freeze_seconds(self) -> float:
        """The longest freeze, in seconds; 0 without any."""
        return max((ended - began for began, ended in self.freezes), default=0.0)

    @property
    def failed(self) -> Sequence[PastInvocation]:
        """The invocations that failed, each of which was retried."""
        return [each for each in self.invocations if each.error]

    @property
    def longest_delay_seconds(self) -> float:
        """The longest time from the start of a failed invocation to the end of the retry that succeeded."""
        return max(self._delays(), default=0.0)

    def _delays(self) -> Iterator[float]:
        began: float | None = None
        for each in self.invocations:
            if each.error or began is not None:
                began = each.began if began is None else began
                yield each.ended - began
            if not each.error:
                began = None


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """All workers of one function, and the errors of their failed invocations with their number."""

    name: str
    workers: Sequence[WorkerHistory]
    errors: Mapping[str, int]

    @property
    def invocations(self) -> int:
        """The number of invocations."""
        return sum(len(each.invocations) for each in self.workers)

    @property
    def replacements(self) -> int:
        """The number of replaced producers."""
        return sum(len(each.replacements) for each in self.workers)

    @property
    def failed(self) -> int:
        """The number of failed invocations."""
        return sum(self.errors.values())

    @property
    def longest_freeze_seconds(self) -> float:
        """The longest freeze of a worker, in seconds."""
        return max((each.longest_freeze_seconds for each in self.workers), default=0.0)

    @property
    def longest_delay_seconds(self) -> float:
        """The longest time that records came late because an invocation failed, in seconds."""
        return max((each.longest_delay_seconds for each in self.workers), default=0.0)


def worker_group(name: str, mapping: EventSourceMapping) -> WorkerGroup:
    """Return what the workers of a function did until now."""
    workers = [_worker(number, each) for number, each in enumerate(mapping.environments, start=1)]
    return WorkerGroup(name, workers, dict(mapping.failed_invocations))


def _worker(number: int, environment: Environment) -> WorkerHistory:
    return WorkerHistory(number, tuple(environment.past), tuple(_replacements(environment.log_streams)))


def _replacements(logs: Iterable[Path]) -> Iterator[Replacement]:
    for log in logs:
        for match in EXPIRED.finditer(log.read_text(encoding="utf-8", errors="replace")):
            at = datetime.fromisoformat(match["at"]).timestamp()
            yield Replacement(at, match["reason"], float(match["idle"] or 0))
