"""Conditions of clients that never connected, or reach no broker at its advertised address."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from leadsman import vocabulary as names
from leadsman.pipeline.conditions.kinds import make_condition
from leadsman.pipeline.conditions.samples import HealthRule
from leadsman.words import join_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from leadsman.model.condition import Condition
    from leadsman.pipeline.conditions.episodes import Episode

CONNECTED = (
    names.COORDINATOR_FOUND,
    names.CONSUMER_JOINED,
    names.NOT_LEADER,
    names.PRODUCE_RETRIED,
    names.OFFSET_RESET,
    names.AUTHORIZATION_FAILED,
    names.CLIENT_THROTTLED,
    names.PRODUCER_FENCED,
)
"""Events that a client logs only after a broker responded to it."""

CONNECTION_LOSSES = (names.CONNECTION_LOST, names.CONNECTION_RESET)
"""Losses of an open connection; librdkafka logs _TRANSPORT also for a connection that never opened."""

WAS_IN_STATE_UP = (
    f"name IN ({', '.join(map(repr, (names.CONNECTION_CLOSED, *CONNECTION_LOSSES)))}) AND text LIKE '%in state UP)%'"
)
"""librdkafka logs in which state a connection ended: in UP, the broker had responded."""

IS_TLS = "text RLIKE '(?i)ssl handshake|SslAuthentication|certificate|handshake_failure'"
"""A broker's URL may hold `sasl_ssl` although the password is wrong."""

IS_BOOTSTRAP = (
    "try_cast(labels['node'] AS BIGINT) < 0 OR labels['node'] LIKE 'bootstrap%' OR text LIKE '%/bootstrap: %'"
)
NODE = "coalesce(labels['node'], regexp_extract(text, '/([0-9]+): Connection setup timed out', 1))"
"""librdkafka names the broker at the beginning of the line."""

ADVERTISED = (
    f"(try_cast({NODE} AS BIGINT) >= 0 OR labels['node'] = 'advertised') "
    "AND (labels['client_id'] IS NOT NULL OR source <> 'java_client')"
)
UNREACHABLE = (
    names.CONNECTION_REFUSED,
    names.CONNECTION_SETUP_TIMED_OUT,
    names.CONNECTION_FAILED,
    names.NAME_UNRESOLVED,
)
HAS_CLUSTER_ID = f"name = '{names.SETTING}' AND labels['key'] = 'cluster.id' AND labels['owner'] = 'cluster'"
ACTIVE = f"name = '{names.SUBJECT_ACTIVE}'"
HEALTHY = (
    f"name IN ({', '.join(repr(name) for name in CONNECTED)}) OR {HAS_CLUSTER_ID} OR {ACTIVE} OR {WAS_IN_STATE_UP}"
)
WAS_OPEN = (
    f"name IN ({', '.join(repr(name) for name in CONNECTION_LOSSES)}) AND labels['error'] IS DISTINCT FROM '_TRANSPORT'"
)
FAILED = (
    f"name = '{names.BOOTSTRAP_FAILED}' OR name = '{names.NAME_UNRESOLVED}' AND NOT coalesce({ADVERTISED}, false) "
    f"OR name IN ({', '.join(repr(name) for name in UNREACHABLE)}) AND ({IS_BOOTSTRAP})"
)
REJECTED = f"name = '{names.AUTHENTICATION_FAILED}' AND source <> 'broker'"

NO_BROKER = "no broker was available"
"""The client has tried all brokers. librdkafka logs the same at each outage, however short."""
CLOSED, UNOPENED = "bootstrap servers closed the connection", "connections could not be opened"
UNRESOLVED, TIMED_OUT, REFUSED = "names were not resolved", "connections timed out", "connections were refused"
AUTHENTICATION, TLS = "authentication failed", "the TLS handshake failed"

DETAIL = f"""
    concat_ws('|', CASE
        WHEN labels['reason'] IN ('no_addresses', 'no_brokers') AND source <> 'librdkafka' THEN '{NO_BROKER}'
        WHEN name = '{names.BOOTSTRAP_FAILED}' THEN '{CLOSED}'
        WHEN name = '{names.NAME_UNRESOLVED}' THEN '{UNRESOLVED}'
        WHEN name = '{names.CONNECTION_SETUP_TIMED_OUT}' THEN '{TIMED_OUT}'
        WHEN name = '{names.CONNECTION_FAILED}' OR name = '{names.CONNECTION_REFUSED}' AND source = 'java_client'
            THEN '{UNOPENED}'
        WHEN name = '{names.CONNECTION_REFUSED}' THEN '{REFUSED}'
        WHEN name = '{names.AUTHENTICATION_FAILED}' THEN IF({IS_TLS}, '{TLS}', '{AUTHENTICATION}')
        ELSE 'connected' END,
        {NODE},
        coalesce(labels['address'], regexp_extract(text, '([A-Za-z0-9_.-]+:[0-9]{{4,5}})(?:[^0-9]|$)', 1)))
"""
"""Reason, node, and name or address. Java logs of every failed connection that it "could not be established"."""

LOG_START = f"IF({ACTIVE}, CAST(at AS DOUBLE), NULL)"
LOG_END = f"IF({ACTIVE}, try_to_timestamp(labels['until']) + INTERVAL 1 SECOND, at)"
DETAIL_OR_LINES = f"IF({ACTIVE}, concat('active|', CAST(CAST(value AS BIGINT) AS STRING)), {DETAIL})"

RULES = (
    HealthRule(
        kind="client_never_connected",
        names=(
            names.BOOTSTRAP_FAILED,
            names.AUTHENTICATION_FAILED,
            names.CONNECTION_CLOSED,
            names.SETTING,
            names.SUBJECT_ACTIVE,
            *CONNECTION_LOSSES,
            *UNREACHABLE,
            *CONNECTED,
        ),
        healthy_names=(names.CONNECTION_CLOSED, names.SETTING, names.SUBJECT_ACTIVE, *CONNECTION_LOSSES, *CONNECTED),
        where=f"{HEALTHY} OR {FAILED} OR {REJECTED}",
        thing="subject",
        unhealthy=f"NOT ({HEALTHY})",
        detail=DETAIL_OR_LINES,
        expected_amount=LOG_START,
        at=LOG_END,
    ),
    HealthRule(
        kind="advertised_unreachable",
        names=(names.SETTING, names.SUBJECT_ACTIVE, *UNREACHABLE, *CONNECTED, *CONNECTION_LOSSES),
        healthy_names=(names.SETTING, names.SUBJECT_ACTIVE, *CONNECTED, *CONNECTION_LOSSES),
        where=f"{HEALTHY} OR {WAS_OPEN} OR name IN ({', '.join(repr(name) for name in UNREACHABLE)}) AND {ADVERTISED}",
        thing="subject",
        unhealthy=f"NOT ({HEALTHY} OR {WAS_OPEN})",
        detail=DETAIL_OR_LINES,
        expected_amount=LOG_START,
        at=LOG_END,
    ),
)

CONNECTED_AFTER_SECONDS = 120.0
"""A client that cannot connect logs so at least every minute (librdkafka suppresses repeated lines for 30 s). A client
whose log continues for longer without such a line has connected; most clients do not log that they have."""

MEAN_INTERVALS = 3.0
"""A client that retries only when a record arrives retries within three mean intervals."""

MIN_ATTEMPTS, MIN_SECONDS, RESTART_SECONDS = 3, 10.0, 30.0
"""A client that has connected loses brokers for as long as a restart; a client that starts together with its brokers
waits for a few seconds."""

FROM_START_SECONDS = 60.0
"""From a log's start to the first failure, at most. A client that fails later had connected; most do not log that."""

LINES_PER_ATTEMPT = 20
"""Lines of a log for each failed attempt at most, stack traces included. The log of a client that also reaches brokers
has more: the client does not log its successes."""

MIN_BROKERS = 3
"""A client that reaches other brokers names only those that it does not reach: one or two of them may be stopped."""

BROKER_KINDS = ("broker_unreachable", "broker_fenced", "coordinator_lost", "started", "stopping")
"""Kinds of episodes whose things are brokers: all brokers that a capture names as unhealthy."""


class FailedAttempt(NamedTuple):
    """A detail of an episode: the reason, the node, its name or address."""

    reason: str
    node: str = ""
    server: str = ""


def conditions(by_kind: Mapping[str, Sequence[Episode]]) -> Iterator[Condition]:
    """Yield the clients that never connected, with the most specific reason."""
    advertised, cut_off = _reaching_none(by_kind), _cut_off(by_kind)
    unresolved = [
        episode
        for episode in cut_off
        if episode.thing in {each.thing for each in advertised} and _reasons(episode) <= {UNRESOLVED}
    ]
    cut_off = [episode for episode in cut_off if episode not in unresolved]
    if cut_off:
        clients = {episode.thing for episode in cut_off}
        figures: dict[str, float | str | None] = {
            "never_connected": len(clients) if all(map(_never_connected, cut_off)) else None,
            "clients": len(clients),
            "what": describe_reasons(cut_off, by_kind.get("certificate", ())),
        }
        yield make_condition("client_never_connected", cut_off, figures, ongoing=True)
    if advertised:
        figures = {"advertised": len(advertised), "what": describe_reasons([*advertised, *unresolved])}
        yield make_condition("client_never_connected", advertised, figures, ongoing=True)


def _cut_off(by_kind: Mapping[str, Sequence[Episode]]) -> list[Episode]:
    return [
        episode
        for episode in by_kind.get("client_never_connected", ())
        if _lasts_to_log_end(episode) and _is_cut_off(episode)
    ]


def unreachable_clients(by_kind: Mapping[str, Sequence[Episode]]) -> set[str]:
    """Return the clients that reach no broker at its advertised address."""
    return {episode.thing for episode in _reaching_none(by_kind)}


def _reaching_none(by_kind: Mapping[str, Sequence[Episode]]) -> list[Episode]:
    known = {episode.thing for kind in BROKER_KINDS for episode in by_kind.get(kind, ())}
    return [
        episode
        for episode in by_kind.get("advertised_unreachable", ())
        if _never_connected(episode)
        and _lasts_to_log_end(episode)
        and _lasted(episode)
        and _fails_always(episode)
        and _tried_all(episode, known)
    ]


def _tried_all(episode: Episode, known: Collection[str]) -> bool:
    """Say whether a client failed to reach every broker that the capture names."""
    tried = {each.node for each in _attempts([episode])} - {"", "advertised"}
    return len(tried) >= MIN_BROKERS and tried.issuperset(known)


def describe_reasons(episodes: Sequence[Episode], certificates: Sequence[Episode] = ()) -> str:
    """Say why clients could not connect, by the most specific of the reasons that each client logs."""
    attempts = _attempts(episodes)
    reasons = set().union(*map(_specific_reasons, episodes))
    if reasons & {TLS, NO_BROKER} and (certificate := _certificate_reason(episodes, certificates)):
        return f"TLS: {certificate}"
    return "; ".join(_with_servers(each, attempts) for each in sorted(reasons))


def _specific_reasons(episode: Episode) -> set[str]:
    reasons = _reasons(episode)
    for specific, general in LESS_SPECIFIC.items():
        if specific in reasons:
            reasons -= general
    return reasons


LESS_SPECIFIC: Mapping[str, set[str]] = {
    TLS: {AUTHENTICATION, NO_BROKER, CLOSED, UNOPENED},
    AUTHENTICATION: {NO_BROKER, CLOSED, UNOPENED},
    UNRESOLVED: {NO_BROKER, CLOSED, UNOPENED},
    TIMED_OUT: {NO_BROKER, CLOSED, UNOPENED},
    REFUSED: {NO_BROKER, CLOSED, UNOPENED},
    UNOPENED: {NO_BROKER, CLOSED},
    CLOSED: {NO_BROKER},
}
CERTIFICATES = {
    "early": "a certificate is not valid yet",
    "expired": "a certificate has expired",
    "presented_expired": "a certificate has expired",
    "untrusted": "a certificate is not trusted",
    "hostname": "a certificate does not match the host name",
}


def _certificate_reason(episodes: Sequence[Episode], certificates: Sequence[Episode]) -> str:
    things = {episode.thing for episode in episodes}
    reasons = {
        detail.partition("|")[0] for episode in certificates if episode.thing in things for detail in episode.details
    }
    return next((words for reason, words in CERTIFICATES.items() if reason in reasons), "")


def _with_servers(reason: str, attempts: Sequence[FailedAttempt]) -> str:
    """Add the servers to a reason. Java names them in the line above the one with the reason."""
    tried = {UNRESOLVED, TIMED_OUT, REFUSED, UNOPENED}
    by_reason = {
        name: {host for each in attempts if each.reason == name and (host := _host(each.server))} for name in tried
    }
    servers = (by_reason[reason] or by_reason[UNOPENED]) if reason in tried else set()
    return f"{reason}: {join_names(sorted(servers))}" if servers else reason


def _host(server: str) -> str:
    """Return the name, or else the address, of `name/address:port`."""
    name = next(filter(None, server.split("/")), "")
    return name.rpartition(":")[0] if name.count(":") == 1 else name


def _attempts(episodes: Iterable[Episode]) -> list[FailedAttempt]:
    return [FailedAttempt(*detail.split("|", 2)) for episode in episodes for detail in episode.details]


def _reasons(episode: Episode) -> set[str]:
    return {each.reason for each in _attempts([episode])}


def _is_cut_off(episode: Episode) -> bool:
    if _reasons(episode) <= {UNRESOLVED} and not _fails_always(episode):
        return False  # one of several names may be wrong
    return _is_decided(episode) or _lasted(episode)


def _is_decided(episode: Episode) -> bool:
    """Say whether one line is enough: the client tried all brokers, or a broker rejected it."""
    return _never_connected(episode) and not {NO_BROKER, AUTHENTICATION, TLS}.isdisjoint(_reasons(episode))


def _lasted(episode: Episode) -> bool:
    """Say whether a client tried for longer than its own start, or a broker's restart, takes."""
    return episode.occurrences >= MIN_ATTEMPTS and episode.observed_seconds >= (
        MIN_SECONDS if _never_connected(episode) else RESTART_SECONDS
    )


def _fails_always(episode: Episode) -> bool:
    """Say whether a log holds little but failed attempts. True where the number of its lines is not known."""
    lines = (episode.recovery_detail or "").removeprefix("active|")
    return not lines.isdecimal() or int(lines) <= LINES_PER_ATTEMPT * episode.occurrences


def _never_connected(episode: Episode) -> bool:
    """Say whether a client failed from its log's start, and no event shows that a broker ever responded to it."""
    started_before = (
        episode.expected_amount is not None
        and episode.since is not None
        and episode.since.timestamp() - episode.expected_amount > FROM_START_SECONDS
    )
    return not started_before and (
        episode.first_healthy is None or (_ends_with_log(episode) and episode.first_healthy == episode.until)
    )


def _lasts_to_log_end(episode: Episode) -> bool:
    """Say whether a client was cut off to the end of its log."""
    if episode.until is None or episode.last_seen is None:
        return episode.ongoing
    usual_seconds = MEAN_INTERVALS * episode.mean_interval_seconds if _fails_always(episode) else 0.0
    return _ends_with_log(episode) and (episode.until - episode.last_seen).total_seconds() <= max(
        CONNECTED_AFTER_SECONDS, usual_seconds
    )


def _ends_with_log(episode: Episode) -> bool:
    return (episode.recovery_detail or "").startswith("active")
