"""Cases of hosts' networks: neighbour tables, sockets, captures and inventories of a fleet around Kafka brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.production.networks_innocent import innocent
from bench.production.networks_stale import proven, unproven
from bench.production.networks_symptoms import symptoms

if TYPE_CHECKING:
    from bench.production.case import DiagnosisCase


def cases() -> tuple[DiagnosisCase, ...]:
    return (*proven(), *unproven(), *innocent(), *symptoms())
