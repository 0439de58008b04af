"""Clients that never connected, or reach no broker by the address that it advertises."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from leadsman import vocabulary as names
from leadsman.pipeline.conditions.kinds import condition
from leadsman.pipeline.conditions.signs import Sign
from leadsman.words import listed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from leadsman.condition import Condition
    from leadsman.pipeline.conditions.signs import Run

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
"""What only a client says that has spoken with a broker."""

OF_A_CONNECTION = (names.CONNECTION_LOST, names.CONNECTION_RESET)
"""What happens on a connection that was open; librdkafka's _TRANSPORT is also of one that was not."""

WAS_UP = f"name IN ({', '.join(map(repr, (names.CONNECTION_CLOSED, *OF_A_CONNECTION)))}) AND text LIKE '%in state UP)%'"
"""librdkafka says in which state a connection was as it ended: in UP, both had spoken."""

IS_TLS = "text RLIKE '(?i)ssl handshake|SslAuthentication|certificate|handshake_failure'"
"""A broker's URL may hold `sasl_ssl` although its password is wrong."""

OF_BOOTSTRAP = (
    "try_cast(labels['node'] AS BIGINT) < 0 OR labels['node'] LIKE 'bootstrap%' OR text LIKE '%/bootstrap: %'"
)
NODE = "coalesce(labels['node'], regexp_extract(text, '/([0-9]+): Connection setup timed out', 1))"
"""librdkafka names the broker before whatever it says of it."""

ADVERTISED = (
    f"(try_cast({NODE} AS BIGINT) >= 0 OR labels['node'] = 'advertised') "
    "AND (labels['client_id'] IS NOT NULL OR source <> 'java_client')"
)
REACHES = (names.CONNECTION_REFUSED, names.CONNECTION_SETUP_TIMED_OUT, names.CONNECTION_FAILED, names.NAME_UNRESOLVED)
TELLS_CLUSTER = f"name = '{names.SETTING}' AND labels['key'] = 'cluster.id' AND labels['owner'] = 'cluster'"
ACTIVE = f"name = '{names.SUBJECT_ACTIVE}'"
WELL = f"name IN ({', '.join(repr(name) for name in CONNECTED)}) OR {TELLS_CLUSTER} OR {ACTIVE} OR {WAS_UP}"
WAS_OPEN = (
    f"name IN ({', '.join(repr(name) for name in OF_A_CONNECTION)}) AND labels['error'] IS DISTINCT FROM '_TRANSPORT'"
)
FAILED = (
    f"name = '{names.BOOTSTRAP_FAILED}' OR name = '{names.NAME_UNRESOLVED}' AND NOT coalesce({ADVERTISED}, false) "
    f"OR name IN ({', '.join(repr(name) for name in REACHES)}) AND ({OF_BOOTSTRAP})"
)
REJECTED = f"name = '{names.AUTHENTICATION_FAILED}' AND source <> 'broker'"

NO_BROKER = "no broker was available"
"""A client that says so has tried them all. librdkafka says it at each outage, however short."""
CLOSED, UNOPENED = "bootstrap servers closed the connection", "connections could not be opened"
UNRESOLVED, TIMED_OUT, REFUSED = "names were not resolved", "connections timed out", "connections were refused"
REJECTED_BY, TLS = "authentication failed", "the TLS handshake failed"

DETAIL = f"""
    concat_ws('|', CASE
        WHEN labels['reason'] IN ('no_addresses', 'no_brokers') AND source <> 'librdkafka' THEN '{NO_BROKER}'
        WHEN name = '{names.BOOTSTRAP_FAILED}' THEN '{CLOSED}'
        WHEN name = '{names.NAME_UNRESOLVED}' THEN '{UNRESOLVED}'
        WHEN name = '{names.CONNECTION_SETUP_TIMED_OUT}' THEN '{TIMED_OUT}'
        WHEN name = '{names.CONNECTION_FAILED}' OR name = '{names.CONNECTION_REFUSED}' AND source = 'java_client'
            THEN '{UNOPENED}'
        WHEN name = '{names.CONNECTION_REFUSED}' THEN '{REFUSED}'
        WHEN name = '{names.AUTHENTICATION_FAILED}' THEN IF({IS_TLS}, '{TLS}', '{REJECTED_BY}')
        ELSE 'connected' END,
        {NODE},
        coalesce(labels['address'], regexp_extract(text, '([A-Za-z0-9_.-]+:[0-9]{{4,5}})(?:[^0-9]|$)', 1)))
"""
"""Why, which node, and by which name or address. Java says of every connection that it "could not be established"."""

LOG_BEGAN = f"IF({ACTIVE}, CAST(at AS DOUBLE), NULL)"
LOG_ENDED = f"IF({ACTIVE}, try_to_timestamp(labels['until']) + INTERVAL 1 SECOND, at)"
WITH_LINES = f"IF({ACTIVE}, concat('active|', CAST(CAST(value AS BIGINT) AS STRING)), {DETAIL})"

SIGNS = (
    Sign(
        kind="client_never_connected",
        names=(
            names.BOOTSTRAP_FAILED,
            names.AUTHENTICATION_FAILED,
            names.CONNECTION_CLOSED,
            names.SETTING,
            names.SUBJECT_ACTIVE,
            *OF_A_CONNECTION,
            *REACHES,
            *CONNECTED,
        ),
        healthy=(names.CONNECTION_CLOSED, names.SETTING, names.SUBJECT_ACTIVE, *OF_A_CONNECTION, *CONNECTED),
        where=f"{WELL} OR {FAILED} OR {REJECTED}",
        thing="subject",
        bad=f"NOT ({WELL})",
        detail=WITH_LINES,
        full=LOG_BEGAN,
        at=LOG_ENDED,
    ),
    Sign(
        kind="advertised_unreachable",
        names=(names.SETTING, names.SUBJECT_ACTIVE, *REACHES, *CONNECTED, *OF_A_CONNECTION),
        healthy=(names.SETTING, names.SUBJECT_ACTIVE, *CONNECTED, *OF_A_CONNECTION),
        where=f"{WELL} OR {WAS_OPEN} OR name IN ({', '.join(repr(name) for name in REACHES)}) AND {ADVERTISED}",
        thing="subject",
        bad=f"NOT ({WELL} OR {WAS_OPEN})",
        detail=WITH_LINES,
        full=LOG_BEGAN,
        at=LOG_ENDED,
    ),
)

SILENT_SECONDS = 120.0
"""A client that cannot connect says so every minute at least (librdkafka suppresses what it repeats for 30 s). One
whose log goes on for longer without a word of it has connected; most clients do not say that."""

USUAL = 3.0
"""A client that tries as seldom as its records come tries again within three times its usual distance."""

LEAST_TIMES, LEAST_SECONDS, RESTART_SECONDS = 3, 10.0, 30.0
"""A client that has connected loses brokers for a restart's time; one that starts with them waits for a few seconds."""

FROM_THE_BEGINNING = 60.0
"""Seconds from a log's beginning to the first failure. A client that fails later had connected: most do not say so."""

LINES_AROUND = 20
"""Lines of a log for each failed attempt at most, stack traces among them: of a client that also reaches brokers
there are more, as it does not say that it does."""

LEAST_BROKERS = 3
"""A client that reaches other brokers names only those that it does not reach: one or two of them may be gone."""

OF_NODES = ("broker_unreachable", "broker_fenced", "coordinator_lost", "started", "stopping")
"""Kinds of runs whose things are brokers: all that a capture names in trouble."""


class Reason(NamedTuple):
    """A detail of a run: why, which node, by which name or address."""

    why: str
    node: str = ""
    server: str = ""


def conditions(found: Mapping[str, Sequence[Run]]) -> Iterator[Condition]:
    """Yield which clients never connected, with the reason that says most."""
    lost, cut_off = _reaching_none(found), _cut_off(found)
    named = [run for run in cut_off if run.thing in {each.thing for each in lost} and _whys(run) <= {UNRESOLVED}]
    cut_off = [run for run in cut_off if run not in named]
    if cut_off:
        clients = {run.thing for run in cut_off}
        figures: dict[str, float | str | None] = {
            "never": len(clients) if all(map(_never, cut_off)) else None,
            "clients": len(clients),
            "what": why(cut_off, found.get("certificate", ())),
        }
        yield condition("client_never_connected", cut_off, figures, stands=True)
    if lost:
        figures = {"advertised": len(lost), "what": why([*lost, *named])}
        yield condition("client_never_connected", lost, figures, stands=True)


def _cut_off(found: Mapping[str, Sequence[Run]]) -> list[Run]:
    return [run for run in found.get("client_never_connected", ()) if _to_the_end(run) and _is_cut_off(run)]


def reaching_none(found: Mapping[str, Sequence[Run]]) -> set[str]:
    """Return the clients that reach no broker at all by its advertised address."""
    return {run.thing for run in _reaching_none(found)}


def _reaching_none(found: Mapping[str, Sequence[Run]]) -> list[Run]:
    known = {run.thing for kind in OF_NODES for run in found.get(kind, ())}
    return [
        run
        for run in found.get("advertised_unreachable", ())
        if _never(run) and _to_the_end(run) and _lasted(run) and _fails_always(run) and _tried_all(run, known)
    ]


def _tried_all(run: Run, known: Collection[str]) -> bool:
    """Say whether a client failed at all brokers of which the capture knows."""
    tried = {reason.node for reason in _reasons([run])} - {"", "advertised"}
    return len(tried) >= LEAST_BROKERS and tried.issuperset(known)


def why(runs: Sequence[Run], certificates: Sequence[Run] = ()) -> str:
    """Say why clients could not connect: of what one client says in several ways the most telling."""
    reasons = _reasons(runs)
    said = set().union(*map(_telling, runs))
    if said & {TLS, NO_BROKER} and (rejected := _rejected(runs, certificates)):
        return f"TLS: {rejected}"
    return "; ".join(_with_servers(each, reasons) for each in sorted(said))


def _telling(run: Run) -> set[str]:
    said = _whys(run)
    for telling, lesser in LESSER.items():
        if telling in said:
            said -= lesser
    return said


LESSER: Mapping[str, set[str]] = {
    TLS: {REJECTED_BY, NO_BROKER, CLOSED, UNOPENED},
    REJECTED_BY: {NO_BROKER, CLOSED, UNOPENED},
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


def _rejected(runs: Sequence[Run], certificates: Sequence[Run]) -> str:
    things = {run.thing for run in runs}
    reasons = {detail.partition("|")[0] for run in certificates if run.thing in things for detail in run.details}
    return next((words for reason, words in CERTIFICATES.items() if reason in reasons), "")


def _with_servers(said: str, reasons: Sequence[Reason]) -> str:
    """Name the servers; where Java says why, the line above names them."""
    tried = {UNRESOLVED, TIMED_OUT, REFUSED, UNOPENED}
    by_why = {why: {host for each in reasons if each.why == why and (host := _host(each.server))} for why in tried}
    servers = (by_why[said] or by_why[UNOPENED]) if said in tried else set()
    return f"{said}: {listed(sorted(servers))}" if servers else said


def _host(server: str) -> str:
    """Return the name, or else the address, of `name/address:port`."""
    name = next(filter(None, server.split("/")), "")
    return name.rpartition(":")[0] if name.count(":") == 1 else name


def _reasons(runs: Iterable[Run]) -> list[Reason]:
    return [Reason(*detail.split("|", 2)) for run in runs for detail in run.details]


def _whys(run: Run) -> set[str]:
    return {reason.why for reason in _reasons([run])}


def _is_cut_off(run: Run) -> bool:
    if _whys(run) <= {UNRESOLVED} and not _fails_always(run):
        return False  # one name of several may be the one that is wrong
    return _decided(run) or _lasted(run)


def _decided(run: Run) -> bool:
    """Say whether one line is enough: all brokers were tried, or the client was turned away by one."""
    return _never(run) and not {NO_BROKER, REJECTED_BY, TLS}.isdisjoint(_whys(run))


def _lasted(run: Run) -> bool:
    """Say whether a client tried for so long that it is no start, and no restart of a broker."""
    return run.times >= LEAST_TIMES and run.seen_seconds >= (LEAST_SECONDS if _never(run) else RESTART_SECONDS)


def _fails_always(run: Run) -> bool:
    """Say whether a log tells of little but failed attempts; of one without times or end nothing is known."""
    lines = (run.ended_by or "").removeprefix("active|")
    return not lines.isdecimal() or int(lines) <= LINES_AROUND * run.times


def _never(run: Run) -> bool:
    """Say whether a client failed from its log's beginning and nothing shows that it ever spoke with a broker."""
    began = run.full is not None and run.since is not None and run.since.timestamp() - run.full > FROM_THE_BEGINNING
    return not began and (run.well is None or (_ended_with_the_log(run) and run.well == run.until))


def _to_the_end(run: Run) -> bool:
    """Say whether a client was cut off for as long as its log tells of it."""
    if run.until is None or run.last is None:
        return run.stands
    seldom = USUAL * run.distance if _fails_always(run) else 0.0
    return _ended_with_the_log(run) and (run.until - run.last).total_seconds() <= max(SILENT_SECONDS, seldom)


def _ended_with_the_log(run: Run) -> bool:
    return (run.ended_by or "").startswith("active")
