"""What stands between a client and its broker, and after how much quiet each of them drops a connection."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias

from leadsman.clients.errors import ContradictsPath

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Hop:
    """One of them. `drops_after`: the quiet time it allows. `freezes`: the process itself stands still at times."""

    name: str
    drops_after: timedelta | None
    freezes: bool = False


_KNOWN = (
    # Kafka's default of connections.max.idle.ms. Closes with a FIN.
    Hop("broker", timedelta(seconds=600)),
    # AWS forgets in silence, or answers the next packet with a reset.
    Hop("aws_nat", timedelta(seconds=350)),
    Hop("aws_nlb", timedelta(seconds=350)),
    # Security group tracking on Nitro v6 instances; older ones: 5 days.
    Hop("aws_security_group", timedelta(seconds=350)),
    # 4 minutes unless the rule says otherwise; in silence unless TCP reset is on.
    Hop("azure_lb", timedelta(seconds=240)),
    # Azure closes idle connections of Event Hubs' Kafka endpoint after 240 s.
    Hop("azure_event_hubs", timedelta(seconds=240)),
    # Connection tracking of a Google VPC.
    Hop("gcp_vpc", timedelta(seconds=600)),
    # A function's way into a VPC goes through a NAT of AWS; between invocations the process is frozen.
    Hop("lambda", timedelta(seconds=350), freezes=True),
    # Frozen between requests as well, unless CPU is always allocated.
    Hop("cloud_run", timedelta(seconds=600), freezes=True),
)

HOPS = {hop.name: hop for hop in _KNOWN}
"""Hops by name."""

PathLike: TypeAlias = "str | Hop | Sequence[str | Hop]"
"""One hop or several, by name or in full."""


@dataclass(frozen=True, slots=True)
class Path:
    """All hops between a client and its brokers."""

    hops: tuple[Hop, ...]

    @property
    def shortest(self) -> Hop:
        """The hop that drops first."""
        return min((hop for hop in self.hops if hop.drops_after is not None), key=_seconds)

    @property
    def limit(self) -> timedelta:
        """The quiet time that the shortest hop allows."""
        assert self.shortest.drops_after is not None
        return self.shortest.drops_after

    @property
    def freezes(self) -> bool:
        """Whether the process stands still between its uses."""
        return any(hop.freezes for hop in self.hops)


def _seconds(hop: Hop) -> float:
    assert hop.drops_after is not None
    return hop.drops_after.total_seconds()


def path(named: PathLike) -> Path:
    """Return the hops of a path. At its end there is always a broker, with Kafka's default unless one is given.

    >>> path(["lambda", "aws_nat"]).limit
    datetime.timedelta(seconds=350)
    >>> path(Hop("mesh", timedelta(minutes=1))).shortest.name
    'mesh'
    """
    several = [named] if isinstance(named, str | Hop) else list(named)
    hops = tuple(hop if isinstance(hop, Hop) else _by_name(hop) for hop in several)
    if not any(hop.name == "broker" for hop in hops):
        hops += (HOPS["broker"],)
    return Path(hops)


def _by_name(name: str) -> Hop:
    if name not in HOPS:
        raise ContradictsPath(
            f"No hop is known as {name!r}. Known: {', '.join(HOPS)}. Or say Hop({name!r}, timedelta(seconds=...))."
        )
    return HOPS[name]
