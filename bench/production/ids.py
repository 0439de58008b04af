"""Telemetry of brokers that hold producer ids: leaks, fleets, bursts and other reasons for a full heap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.production import ids_innocent, ids_leaks

if TYPE_CHECKING:
    from bench.production.case import DiagnosisCase


def cases() -> tuple[DiagnosisCase, ...]:
    """All cases of the family."""
    return (*ids_leaks.cases(), *ids_innocent.cases())
