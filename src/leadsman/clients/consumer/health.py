"""How a consumer is doing, for whoever orchestrates it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """Where a runner is in its life."""

    STARTING = "starting"
    RUNNING = "running"
    RESTARTING = "restarting"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """One look at a runner.

    `ready`: it is a member of its group, with partitions or with none left for it. `alive`: it makes progress, or there
    is nothing to do and brokers are heard; a thread that runs proves nothing. `idle_seconds` since the last progress.
    """

    state: State
    ready: bool
    alive: bool
    because: str
    processed: int
    dead_lettered: int
    skipped: int
    retried: int
    restarts: int
    commits: int
    commit_failures: int
    partitions: int
    under_way: int
    lag: int
    idle_seconds: float
