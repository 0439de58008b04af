"""What comes of a worker's send: harmed after a long gap, at random, at one instant, or in a few chosen invocations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.production.serverless_fleet import DAY_0_MS, HOUR_MS
from bench.production.serverless_wordings import REOPENED, SENT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from random import Random

    from bench.production.serverless_fleet import WorkerInvocation

NOON_MS = DAY_0_MS + 36 * HOUR_MS
"""Noon of the second day: when restarts and deployments happen."""


def after_gaps(
    limit_s: float, harm: str, *, unaffected: float = 0.0, stray: float = 0.0
) -> Callable[[WorkerInvocation], str]:
    """Harm after a gap above the limit, but for the part that is spared; below it only the stray part."""

    def outcome(invocation: WorkerInvocation) -> str:
        chance = invocation.random.random()
        if invocation.gap_s <= limit_s + 1.5 * chance:
            return harm if chance < stray else SENT
        return REOPENED if chance < unaffected else harm

    return outcome


def at_random(rate: float, harm: str) -> Callable[[WorkerInvocation], str]:
    """Harm to so large a part of sends, whatever the gap before them."""

    def outcome(invocation: WorkerInvocation) -> str:
        return harm if invocation.number and invocation.random.random() < rate else SENT

    return outcome


def at_once(moment_ms: int, seconds: float, harm: str) -> Callable[[WorkerInvocation], str]:
    """Harm to everybody who sends within so many seconds from the moment."""

    def outcome(invocation: WorkerInvocation) -> str:
        return harm if moment_ms <= invocation.at_ms < moment_ms + seconds * 1000 else SENT

    return outcome


def in_invocations(chosen: Collection[tuple[int, int]], harm: str) -> Callable[[WorkerInvocation], str]:
    """Harm to just these invocations, each named by its worker and number."""

    def outcome(invocation: WorkerInvocation) -> str:
        return harm if (invocation.worker, invocation.number) in chosen else SENT

    return outcome


def healthy(limit_s: float) -> Callable[[WorkerInvocation], str]:
    """No harm: a connection that was closed while idle is reopened in milliseconds."""
    return after_gaps(limit_s, REOPENED)


def before_noon(random: Random) -> int:
    """A start that has the worker alive at noon of the second day."""
    return NOON_MS - int((0.5 + random.random()) * HOUR_MS)
