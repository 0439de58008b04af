"""What a case of the proving ground is: telemetry as production hands it over, and the verdict of an expert.

A case is written from the description of an incident and of what looks like it, by an author who has not read the
detectors; its verdict is written down before the case is run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from random import Random

PRESENT, UNKNOWN, ABSENT = "PRESENT", "UNKNOWN", "ABSENT"

SEED = 20261121
"""Of the random numbers that every case is written with, beside its name."""

MODES = ("idle_disconnect", "producer_id_leak", "leaderless_partition", "stale_neighbour")


class CaptureSize(IntEnum):
    """About how many bytes a case writes. The verdict must not depend on it."""

    TEST = 400_000
    MEDIUM = 50_000_000
    LARGE = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosisCase:
    """One capture and what an expert says of it.

    `family` is what the telemetry is of ("serverless workers"), `form` how it was handed over ("get-log-events JSON").
    `expected` gives the expert's verdict by failure mode. A mode that it does not name must not be PRESENT, and may be
    UNKNOWN or ABSENT. `why` is the expert's reason, in a sentence or two. `conditions` are facts that a report must
    name whatever the modes say, as kinds of `CONDITIONS`. `write` fills an empty folder with about so many bytes;
    the same random numbers give the same bytes.
    """

    name: str
    family: str
    form: str
    why: str
    expected: Mapping[str, str]
    write: Callable[[Path, Random, int], None]
    conditions: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    """Options of `leadsman diagnose` that the case is about, such as `--timezone`."""


CONDITIONS = (
    "partition_without_leader",
    "under_replicated",
    "under_min_isr",
    "broker_fenced",
    "broker_missing",
    "broker_restarted",
    "group_dead",
    "group_rebalancing",
    "lag_growing",
    "client_never_connected",
    "out_of_memory",
    "oom_killed",
    "disk_full",
    "certificate",
)
"""Kinds of what can be wrong with a cluster, its clients and hosts, whether or not a failure mode knows why."""
