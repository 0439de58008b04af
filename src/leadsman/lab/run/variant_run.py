"""One run of an experiment: its parameters and its phases."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from leadsman.lab.run.experiment import Experiment, Variant
    from leadsman.lab.workload.clients import Client


def no_progress(_: str) -> None:
    """Report no progress."""


@dataclass(slots=True, kw_only=True)
class VariantRun:
    """One run: a variant of an experiment, with one client and one broker version. `out` is the capture's folder."""

    experiment: Experiment
    variant_name: str
    client: Client
    kafka: str
    out: Path
    progress: Callable[[str], None] = no_progress
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    phases: list[tuple[str, datetime]] = field(default_factory=list)

    @property
    def variant(self) -> Variant:
        """The variant that runs."""
        return self.experiment.variant(self.variant_name)

    @property
    def command_line(self) -> str:
        """The command that does the same again."""
        name = self.variant_name
        option = "--near-miss" if name in self.experiment.scenario.near_misses else "--variant"
        words = {"broken": "", "cured": "--cured"}.get(name, f"{option} {name}")
        call = f"leadsman reproduce {self.experiment.mode} --client {self.client.label} --kafka {self.kafka} {words}"
        return call.rstrip()

    def begin_phase(self, name: str, description: str) -> None:
        """Note that a phase begins now, and report it."""
        self.phases.append((name, datetime.now(UTC)))
        self.progress(description)

    def phase_seconds(self) -> dict[str, float]:
        """Return how long each phase took so far."""
        ends = [at for _, at in self.phases[1:]] + [datetime.now(UTC)]
        pairs = zip(self.phases, ends, strict=True)
        return {name: round((end - at).total_seconds(), 1) for (name, at), end in pairs}
