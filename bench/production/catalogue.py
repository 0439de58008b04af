"""Every case of the proving ground."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.production import clusters, foreign, ids, networks, serverless

if TYPE_CHECKING:
    from bench.production.case import DiagnosisCase


def cases() -> tuple[DiagnosisCase, ...]:
    """Return all cases, family by family."""
    return tuple(case for family in (serverless, ids, clusters, networks, foreign) for case in family.cases())
