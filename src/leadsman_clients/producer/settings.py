"""Adjusts a producer's settings to its network path: the client closes an idle connection before any hop drops it.

This alone shortens a stall of 60 s after a silent drop to milliseconds (confluent-kafka 2.16, frozen process,
measured).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from leadsman_clients.errors import InvalidConfiguration

if TYPE_CHECKING:
    from leadsman_clients.network_path import NetworkPath

Settings: TypeAlias = Mapping[str, Any]
"""A client's configuration, under its own names."""

SettingsSource: TypeAlias = "Settings | Callable[[], Settings]"
"""Settings, or a function that is called at each creation and returns them, so that credentials are fresh."""

CLIENT_IDLE_SHARE = 0.45
"""The client's own idle limit, as a share of the shortest hop's: below half, because clients look at their idle
connections only now and then, some of them once in a whole idle limit."""

SAFE_IDLE_SHARE = 0.5
"""A user's own idle limit above this share of the shortest hop's may be checked too late."""

PROVIDER_IDLE_SHARE = 0.8
"""The provider replaces later than the client reconnects: it is the second line, for idle time that the client's clock
missed. The remaining fifth is for the way there and back and for clocks that differ."""

REQUEST_SECONDS = 10.0
"""The timeout of one request: 60 s in librdkafka, 30 s in kafka-python by default. A response takes milliseconds;
during an election brokers respond at once, with an error that is retried."""

DELIVERY_SHARE = 0.9
"""A record's own timeout ends a little before the caller's, so that the caller still gets the report."""

REQUEST_SHARE = 1 / 3
"""Within a caller's time a lost request can be repeated twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingNames:
    """The names of one client's settings that matter here. Of several names, the first is the one that is set.

    `idle_limit_off` are values of its idle limit that mean "no limit".
    """

    client: str
    idle_limit: str
    idle_limit_off: tuple[object, ...]
    delivery_timeout: tuple[str, ...]
    default_delivery_seconds: float
    request_timeout: tuple[str, ...]
    idempotence: str
    idempotent_by_default: bool
    unfrozen_settings: Settings
    """Settings for a process that is never frozen."""
    request_timeout_is_delivery_timeout: bool = False
    """A record may take as long as its one request: the client has no setting for the delivery."""


CONFLUENT = SettingNames(
    client="confluent-kafka",
    idle_limit="connections.max.idle.ms",
    idle_limit_off=(0, "0"),
    delivery_timeout=("message.timeout.ms", "delivery.timeout.ms"),
    default_delivery_seconds=300,
    request_timeout=("socket.timeout.ms",),
    idempotence="enable.idempotence",
    idempotent_by_default=False,
    unfrozen_settings={"socket.keepalive.enable": True},  # a frozen process cannot answer a keepalive probe in time
)
KAFKA_PYTHON = SettingNames(
    client="kafka-python",
    idle_limit="connections_max_idle_ms",
    idle_limit_off=(None, 0, -1),
    delivery_timeout=("delivery_timeout_ms",),
    default_delivery_seconds=120,
    request_timeout=("request_timeout_ms",),
    idempotence="enable_idempotence",
    idempotent_by_default=True,
    unfrozen_settings={},
)
AIOKAFKA = SettingNames(
    client="aiokafka",
    idle_limit="connections_max_idle_ms",
    idle_limit_off=(None, 0, -1),
    delivery_timeout=("request_timeout_ms",),
    default_delivery_seconds=40,
    request_timeout=("request_timeout_ms",),
    idempotence="enable_idempotence",
    idempotent_by_default=False,
    unfrozen_settings={},
    request_timeout_is_delivery_timeout=True,
)
SETTING_NAMES = {names.client: names for names in (CONFLUENT, KAFKA_PYTHON, AIOKAFKA)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AdjustedSettings:
    """Settings that fit a network path, with warnings about the user's own."""

    settings: Settings
    warnings: tuple[str, ...]
    delivery_timeout: timedelta
    """How long a record may take."""
    is_idempotent: bool


def adjust_settings(
    settings: Settings, names: SettingNames, *, path: NetworkPath, timeout: timedelta | None = None
) -> AdjustedSettings:
    """Return the settings with those added that the path needs; `timeout` is how long a caller can wait for a record.

    A setting of the user's is never changed: one that loses records on this path raises InvalidConfiguration, one that
    is merely doubtful becomes a warning.
    """
    idle_limit, warnings = _idle_limit(settings, names, path)
    delivery_seconds = _delivery_seconds(settings, names, timeout)
    unfrozen = {} if path.freezes else names.unfrozen_settings
    adjusted = {**unfrozen, **settings, **idle_limit, **_timeouts(settings, names, delivery_seconds, timeout)}
    return AdjustedSettings(
        settings=adjusted,
        warnings=(*warnings, *_warnings(settings)),
        delivery_timeout=timedelta(seconds=delivery_seconds),
        is_idempotent=is_idempotent(settings, names),
    )


def is_idempotent(settings: Settings, names: SettingNames) -> bool:
    """Whether a producer with these settings is idempotent."""
    return str(settings.get(names.idempotence, names.idempotent_by_default)).lower() in {"true", "1"}


def _idle_limit(settings: Settings, names: SettingNames, path: NetworkPath) -> tuple[Settings, tuple[str, ...]]:
    limit, hop = path.idle_timeout.total_seconds(), path.shortest_hop.name
    advice = f"Leave it out: it is then set to {limit * CLIENT_IDLE_SHARE * 1000:.0f}."
    if names.idle_limit not in settings:
        return {names.idle_limit: int(limit * CLIENT_IDLE_SHARE * 1000)}, ()
    value = settings[names.idle_limit]
    if value in names.idle_limit_off or float(value) >= limit * 1000:
        raise InvalidConfiguration(
            f"{names.idle_limit}={value}, but {hop} drops connections that are idle for {limit:g} s: the client would "
            f"send on a dropped connection. {advice}"
        )
    if float(value) > limit * 1000 * SAFE_IDLE_SHARE:
        warning = f"{names.idle_limit}={value} is close to the {limit:g} s of {hop}: the client may check it too late."
        return {}, (f"{warning} {advice}",)
    return {}, ()


def _delivery_seconds(settings: Settings, names: SettingNames, timeout: timedelta | None) -> float:
    """Return how many seconds a record may take."""
    name = next((name for name in names.delivery_timeout if name in settings), None)
    if name is None:
        return timeout.total_seconds() * DELIVERY_SHARE if timeout else names.default_delivery_seconds
    seconds = float(settings[name]) / 1000
    if timeout and seconds > timeout.total_seconds():
        raise InvalidConfiguration(
            f"{name}={settings[name]}, but the caller has only {timeout.total_seconds():g} s: the delivery report "
            f"would come too late. Leave it out for {timeout.total_seconds() * DELIVERY_SHARE * 1000:.0f}."
        )
    return seconds


def _timeouts(settings: Settings, names: SettingNames, delivery_seconds: float, timeout: timedelta | None) -> Settings:
    timeouts: dict[str, Any] = {}
    if timeout and not any(name in settings for name in names.delivery_timeout):
        timeouts[names.delivery_timeout[0]] = int(delivery_seconds * 1000)
    if not names.request_timeout_is_delivery_timeout and not any(name in settings for name in names.request_timeout):
        seconds = min(REQUEST_SECONDS, delivery_seconds * REQUEST_SHARE)
        timeouts[names.request_timeout[0]] = int(seconds * 1000)
    return timeouts


def _warnings(settings: Settings) -> tuple[str, ...]:
    """Return warnings about settings that lose records on any path."""
    warnings = []
    acks = next((settings[name] for name in ("acks", "request.required.acks") if name in settings), None)
    if str(acks) == "0":
        warnings.append("acks=0: a delivery report means that a record was sent, not that it was stored. Use acks=all.")
    retries = next((settings[name] for name in ("retries", "message.send.max.retries") if name in settings), None)
    if str(retries) == "0":
        warnings.append("retries=0: a request that is lost loses its record. Leave it out.")
    return tuple(warnings)
