"""How the gate sees an idle disconnect before it ships."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.program import Program

SHORTEST_HOP_MS = 240_000
"""Azure's load balancers drop a connection after 240 s, the shortest limit of the hops that are documented."""


def idle_limit_above_the_path(program: Program) -> Iterator[tuple[int, str]]:
    """A client that keeps idle connections longer than a hop of its path writes on connections that are gone."""
    idle = program.settings.get("connections.max.idle.ms")
    if idle and not 0 < int(idle.value) < SHORTEST_HOP_MS:
        yield idle.line, f"connections.max.idle.ms={idle.value} outlives hops that drop idle connections after 240 s"


def no_retries(program: Program) -> Iterator[tuple[int, str]]:
    """Without retries the first request on a dead connection is a lost record."""
    retries = program.settings.get("retries")
    if retries and int(retries.value) == 0:
        yield retries.line, "retries=0 loses the record whose connection was dropped while idle"
