"""Fits a producer's settings to its path: the client closes an idle connection before anybody else does.

This alone turns a stall of 60 s after a silent drop into milliseconds (confluent-kafka 2.16, frozen process, measured).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from leadsman.clients.errors import ContradictsPath

if TYPE_CHECKING:
    from leadsman.clients.hops import Path

Settings: TypeAlias = Mapping[str, Any]
"""A client's configuration, under its own names."""

SettingsSource: TypeAlias = "Settings | Callable[[], Settings]"
"""Settings, or what returns them at each creation: then credentials are fresh."""

CLIENT_SHARE = 0.45
"""The client's own idle limit, as a share of the shortest hop's: below half, because clients look at their idle
connections only now and then, some of them once in a whole idle limit."""

SAFE_SHARE = 0.5
"""A limit of the user's own above this share of the shortest hop may be looked at too late."""

PROVIDER_SHARE = 0.8
"""The provider replaces later than the client reconnects: it is the second line, for what the client's clock missed.
The rest is room for the way there and back and for clocks that differ."""

REQUEST_SECONDS = 10.0
"""How long one request may go unanswered: 60 s in librdkafka, 30 s in kafka-python by default. An answer takes
milliseconds; an election of a new leader answers at once, with an error that is retried."""

DEADLINE_SHARE = 0.9
"""A record's own time is up a little before the caller's, so that the caller still hears of it."""

REQUEST_SHARE = 1 / 3
"""Within a caller's time a lost request can be repeated twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What one client calls the settings that matter here. `never` are values of its idle limit that mean "no limit".

    `delivery` are the names for how long a record may take in all, `request` for how long one request; the first is
    used.
    """

    client: str
    idle: str
    never: tuple[object, ...]
    delivery: tuple[str, ...]
    delivery_default_seconds: float
    request: tuple[str, ...]
    idempotence: str
    idempotent_by_default: bool
    running: Settings
    """Settings for a process that is never frozen."""
    shadowed_request: bool = False
    """A record may take as long as its one request: there is no setting for it."""


CONFLUENT = Dialect(
    client="confluent-kafka",
    idle="connections.max.idle.ms",
    never=(0, "0"),
    delivery=("message.timeout.ms", "delivery.timeout.ms"),
    delivery_default_seconds=300,
    request=("socket.timeout.ms",),
    idempotence="enable.idempotence",
    idempotent_by_default=False,
    running={"socket.keepalive.enable": True},  # a frozen process answers no probe, and needs none to be found gone
)
KAFKA_PYTHON = Dialect(
    client="kafka-python",
    idle="connections_max_idle_ms",
    never=(None, 0, -1),
    delivery=("delivery_timeout_ms",),
    delivery_default_seconds=120,
    request=("request_timeout_ms",),
    idempotence="enable_idempotence",
    idempotent_by_default=True,
    running={},
)
AIOKAFKA = Dialect(
    client="aiokafka",
    idle="connections_max_idle_ms",
    never=(None, 0, -1),
    delivery=("request_timeout_ms",),
    delivery_default_seconds=40,
    request=("request_timeout_ms",),
    idempotence="enable_idempotence",
    idempotent_by_default=False,
    running={},
    shadowed_request=True,
)
DIALECTS = {dialect.client: dialect for dialect in (CONFLUENT, KAFKA_PYTHON, AIOKAFKA)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """Settings that go with a path, and what is to be said about them."""

    settings: Settings
    notes: tuple[str, ...]
    delivery: timedelta
    """How long a record may take."""
    idempotent: bool


def fit(settings: Settings, dialect: Dialect, *, path: Path, within: timedelta | None = None) -> Fitted:
    """Return the settings with what the path wants added; `within` is how long a caller can wait for a record.

    Nothing that the user set is changed: what contradicts the path is refused (ContradictsPath), what is merely
    doubtful is noted.
    """
    idle, notes = _idle(settings, dialect, path)
    delivery = _delivery(settings, dialect, within)
    running = {} if path.freezes else dialect.running
    fitted = {**running, **settings, **idle, **_timeouts(settings, dialect, delivery, within)}
    idempotent = _true(settings.get(dialect.idempotence, dialect.idempotent_by_default))
    return Fitted(
        settings=fitted, notes=(*notes, *_doubts(settings)), delivery=timedelta(seconds=delivery), idempotent=idempotent
    )


def _idle(settings: Settings, dialect: Dialect, path: Path) -> tuple[Settings, tuple[str, ...]]:
    limit, hop = path.limit.total_seconds(), path.shortest.name
    advice = f"Leave it out: it is then set to {limit * CLIENT_SHARE * 1000:.0f}."
    if dialect.idle not in settings:
        return {dialect.idle: int(limit * CLIENT_SHARE * 1000)}, ()
    value = settings[dialect.idle]
    if value in dialect.never or float(value) >= limit * 1000:
        raise ContradictsPath(
            f"{dialect.idle}={value}, but {hop} drops connections after {limit:g} s of quiet: the client would send on "
            f"one that is gone. {advice}"
        )
    if float(value) > limit * 1000 * SAFE_SHARE:
        return {}, (
            f"{dialect.idle}={value} is close to the {limit:g} s of {hop}: it may be looked at too late. {advice}",
        )
    return {}, ()


def _delivery(settings: Settings, dialect: Dialect, within: timedelta | None) -> float:
    """Return how many seconds a record may take."""
    name = next((name for name in dialect.delivery if name in settings), None)
    if name is None:
        return within.total_seconds() * DEADLINE_SHARE if within else dialect.delivery_default_seconds
    seconds = float(settings[name]) / 1000
    if within and seconds > within.total_seconds():
        raise ContradictsPath(
            f"{name}={settings[name]}, but the caller has only {within.total_seconds():g} s: it would be gone before "
            f"it heard of the record. Leave it out for {within.total_seconds() * DEADLINE_SHARE * 1000:.0f}."
        )
    return seconds


def _timeouts(settings: Settings, dialect: Dialect, delivery: float, within: timedelta | None) -> Settings:
    found: dict[str, Any] = {}
    if within and not any(name in settings for name in dialect.delivery):
        found[dialect.delivery[0]] = int(delivery * 1000)
    if not dialect.shadowed_request and not any(name in settings for name in dialect.request):
        bound = min(REQUEST_SECONDS, delivery * REQUEST_SHARE)
        found[dialect.request[0]] = int(bound * 1000)
    return found


def _doubts(settings: Settings) -> tuple[str, ...]:
    """Note what loses records whatever the path."""
    notes = []
    acks = next((settings[name] for name in ("acks", "request.required.acks") if name in settings), None)
    if str(acks) == "0":
        notes.append("acks=0: a delivery report says that a record was sent, not that it was stored. Use acks=all.")
    retries = next((settings[name] for name in ("retries", "message.send.max.retries") if name in settings), None)
    if str(retries) == "0":
        notes.append("retries=0: a request that is lost loses its record. Leave it out.")
    return tuple(notes)


def _true(value: object) -> bool:
    return str(value).lower() in {"true", "1"}
