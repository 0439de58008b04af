"""The health of a consumer, for an orchestrator and for metrics."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RunnerState(StrEnum):
    """The state of a ConsumerRunner."""

    STARTING = "starting"
    RUNNING = "running"
    RESTARTING = "restarting"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerHealth:
    """The health of a ConsumerRunner at one moment.

    `ready`: it is a member of its group, with partitions or with none left for it. `alive`: it makes progress, or there
    is nothing to do and brokers respond; a thread that runs proves nothing. `reason`: why it is not alive, or why it
    was restarted. `idle_seconds` since the last progress.
    """

    state: RunnerState
    ready: bool
    alive: bool
    reason: str
    processed: int
    dead_lettered: int
    skipped: int
    retried: int
    restarts: int
    commits: int
    commit_failures: int
    partitions: int
    in_flight: int
    lag: int
    idle_seconds: float
