"""The hops between a client and its broker, and after how much idle time each of them drops a connection."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias

from leadsman_clients.errors import InvalidConfiguration

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Hop:
    """A load balancer, NAT, firewall, broker or platform.

    `idle_timeout`: it drops connections that are idle for so long. `freezes`: the process itself is frozen at times.
    `title` is what people call it, `close` how it drops a connection, for documents.
    """

    name: str
    idle_timeout: timedelta | None
    freezes: bool = False
    title: str = ""
    close: str = ""


_MINUTES = timedelta(minutes=1)
_AWS = timedelta(seconds=350)
_KNOWN = (
    Hop("broker", 10 * _MINUTES, title="Kafka broker, `connections.max.idle.ms`", close="with a FIN"),
    Hop("aws_nat", _AWS, title="AWS NAT gateway", close="without a packet; the next packet gets a reset or no answer"),
    Hop("aws_nlb", _AWS, title="AWS Network Load Balancer", close="without a packet; the next packet gets a reset"),
    Hop(
        "aws_security_group",
        _AWS,
        title="AWS security group tracking, Nitro V6 instances",
        close="without a reset (older instances: after 5 days)",
    ),
    Hop("azure_lb", 4 * _MINUTES, title="Azure Load Balancer", close="without a reset, unless TCP reset is enabled"),
    Hop("azure_event_hubs", 4 * _MINUTES, title="Azure Event Hubs, Kafka endpoint", close="with a FIN"),
    Hop("gcp_vpc", 10 * _MINUTES, title="Google Cloud VPC, connection tracking", close="without a reset"),
    Hop(
        "lambda",
        _AWS,
        freezes=True,
        title="AWS Lambda in a VPC, through its NAT gateway",
        close="as the NAT gateway; the process is frozen between invocations",
    ),
    Hop(
        "cloud_run",
        10 * _MINUTES,
        freezes=True,
        title="Google Cloud Run, through its VPC",
        close="as the VPC; the process is frozen between requests, unless CPU is always allocated",
    ),
)

HOPS = {hop.name: hop for hop in _KNOWN}
"""Known hops by name. The detector, the gate's rules and the documents take their idle timeouts from here."""

PathSpec: TypeAlias = "str | Hop | Sequence[str | Hop]"
"""One hop or several, each by its name in HOPS or as a Hop."""


@dataclass(frozen=True, slots=True)
class NetworkPath:
    """All hops between a client and its brokers."""

    hops: tuple[Hop, ...]

    @property
    def shortest_hop(self) -> Hop:
        """The hop with the shortest idle timeout."""
        return min((hop for hop in self.hops if hop.idle_timeout is not None), key=_seconds)

    @property
    def idle_timeout(self) -> timedelta:
        """The idle timeout of the shortest hop."""
        assert self.shortest_hop.idle_timeout is not None
        return self.shortest_hop.idle_timeout

    @property
    def freezes(self) -> bool:
        """Whether the process is frozen between its uses."""
        return any(hop.freezes for hop in self.hops)


def _seconds(hop: Hop) -> float:
    assert hop.idle_timeout is not None
    return hop.idle_timeout.total_seconds()


def resolve_path(spec: PathSpec) -> NetworkPath:
    """Return the hops of a path. Its last hop is always a broker, with Kafka's default unless one is given.

    >>> resolve_path(["lambda", "aws_nat"]).idle_timeout
    datetime.timedelta(seconds=350)
    >>> resolve_path(Hop("mesh", timedelta(minutes=1))).shortest_hop.name
    'mesh'
    """
    specs = [spec] if isinstance(spec, str | Hop) else list(spec)
    hops = tuple(each if isinstance(each, Hop) else _hop_by_name(each) for each in specs)
    if not any(hop.name == "broker" for hop in hops):
        hops += (HOPS["broker"],)
    return NetworkPath(hops)


def _hop_by_name(name: str) -> Hop:
    if name not in HOPS:
        raise InvalidConfiguration(
            f"No hop is known as {name!r}. Known: {', '.join(HOPS)}. For another one, pass "
            f"Hop({name!r}, timedelta(seconds=...))."
        )
    return HOPS[name]


def idle_seconds(name: str) -> float:
    """Return the idle timeout of a known hop, in seconds."""
    return _seconds(HOPS[name])


def hop_table() -> str:
    """Return the known hops as a Markdown table, the shortest idle timeout first."""
    rows = [
        f"| {hop.title} | `{hop.name}` | {_seconds(hop):g} s | {hop.close} |" for hop in sorted(_KNOWN, key=_seconds)
    ]
    return "\n".join(("| hop | name | drops idle connections after | how |", "|---|---|---|---|", *rows))
