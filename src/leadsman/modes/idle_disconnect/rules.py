"""How the gate sees an idle disconnect before it ships."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.defaults import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.gate.program import Program

LONGEST_SAFE_MS = round(0.45 * number("broker", "connections.max.idle.ms"))
"""45 % of the broker's default: a client looks at its idle connections only now and then. Where a hop of the
path drops earlier (AWS 350 s, Azure 240 s), 45 % of that."""


def idle_limit_above_the_path(program: Program) -> Iterator[tuple[int, str]]:
    """A client that keeps idle connections longer than a hop of its path writes on connections that are gone."""
    idle = program.settings.get("connections.max.idle.ms")
    if idle and not _safe(program):
        yield idle.line, f"connections.max.idle.ms={idle.value} outlives hops that drop idle connections"


def lost_without_retry(program: Program) -> Iterator[tuple[int, str]]:
    """Without retries, the first request on a connection that was dropped is a lost record."""
    retries = program.settings.get("retries")
    if retries and int(retries.value) == 0 and not _safe(program):
        yield retries.line, "retries=0 loses the first record after an idle disconnect"


def _safe(program: Program) -> bool:
    idle = program.settings.get("connections.max.idle.ms")
    return idle is not None and 0 < int(idle.value) <= LONGEST_SAFE_MS
