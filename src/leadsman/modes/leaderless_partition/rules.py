"""How the gate sees a consumer that would die while its cluster settles, before it ships."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.defaults import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.program import Program

PATIENCE = "default.api.timeout.ms"

LEAST_MS = round(2 * number("consumer", PATIENCE))
"""Twice the default. Windows of up to 79 s were measured on small clusters; a large one takes longer."""


def commit_gives_up_before_the_cluster_settles(program: Program) -> Iterator[tuple[int, str]]:
    """A consumer whose commit has less patience than the cluster takes to settle dies of the first lost broker."""
    patience = program.settings.get(PATIENCE)
    if patience and patience.value.isdigit() and int(patience.value) < LEAST_MS:
        yield patience.line, f"{PATIENCE}={patience.value} is shorter than clusters take to settle"
