"""Conditions of clients: not authenticated, not authorized, throttled, fenced, offsets reset. A subject is a client.

A library's default `client.id` identifies no client, and an address in a broker's log may belong to a client whose own
log is in the capture. Neither is counted besides the clients' logs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.conditions.connecting import IS_TLS
from leadsman.pipeline.conditions.kinds import is_ongoing, make_condition
from leadsman.pipeline.conditions.samples import HealthRule
from leadsman.words import join_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from leadsman.model.condition import Condition
    from leadsman.pipeline.conditions.episodes import Episode

HOST = "regexp_replace(labels['address'], ':[0-9]+$', '')"
MECHANISM = "nullif(regexp_extract(text, 'SASL mechanism ([A-Z0-9-]+)', 1), '')"
OBJECT = (
    "concat_ws(' ', lower(labels['resource']), "
    "nullif(regexp_extract(text, '(?:topics?|groups?): [^A-Za-z0-9]{0,2}([A-Za-z0-9._-]+)', 1), ''))"
)
DENIED = (
    "concat(labels['operation'], ' on ', lower(labels['resource']), ' ', labels['name'], ' to ', labels['principal'])"
)
LOGGED_BY_BROKER = "source = 'broker'"

RULES = (
    HealthRule(
        kind="authentication_failed",
        names=(names.AUTHENTICATION_FAILED,),
        where=f"NOT ({LOGGED_BY_BROKER}) AND NOT ({IS_TLS})",
        thing="subject",
        detail=MECHANISM,
    ),
    HealthRule(
        kind="authentication_rejected",
        names=(names.AUTHENTICATION_FAILED,),
        where=f"{LOGGED_BY_BROKER} AND NOT ({IS_TLS})",
        thing=f"coalesce({HOST}, subject)",
        detail=MECHANISM,
    ),
    HealthRule(
        kind="authorization_failed",
        names=(names.AUTHORIZATION_FAILED,),
        where="labels['principal'] IS NULL",
        thing="subject",
        detail=OBJECT,
    ),
    HealthRule(
        kind="authorization_denied",
        names=(names.AUTHORIZATION_FAILED,),
        where="labels['principal'] IS NOT NULL",
        thing=f"coalesce({HOST}, subject)",
        detail=DENIED,
    ),
    HealthRule(
        kind="offsets_reset",
        names=(names.OFFSET_OUT_OF_RANGE,),
        thing="subject",
        detail="concat_ws('-', labels['topic'], labels['partition'])",
    ),
    HealthRule(kind="client_throttled", names=(names.CLIENT_THROTTLED,), thing="subject", amount="value"),
    HealthRule(
        kind="producer_fenced",
        names=(names.PRODUCER_FENCED,),
        thing="subject",
        detail="labels['transactional_id']",
    ),
)


def conditions(by_kind: Mapping[str, Sequence[Episode]], capture_end: datetime | None) -> Iterator[Condition]:
    """Yield the conditions of clients. `capture_end` is the last time that the capture covers."""
    yield from _unauthenticated(by_kind, capture_end)
    yield from _unauthorized(by_kind, capture_end)
    if reset := by_kind.get("offsets_reset"):
        yield make_condition(
            "offsets_reset", reset, {"clients": reset[0].thing_count}, ongoing=is_ongoing(reset, capture_end)
        )
    if throttled := by_kind.get("client_throttled"):
        figures: dict[str, float | str | None] = {
            "clients": throttled[0].thing_count,
            "lines": sum(episode.occurrences for episode in throttled),
            "most": max((episode.max_amount or 0.0 for episode in throttled), default=None),
        }
        yield make_condition("client_throttled", throttled, figures, ongoing=is_ongoing(throttled, capture_end))
    if fenced := by_kind.get("producer_fenced"):
        yield _fenced(fenced, capture_end)


def _unauthenticated(by_kind: Mapping[str, Sequence[Episode]], capture_end: datetime | None) -> Iterator[Condition]:
    own, from_brokers = by_kind.get("authentication_failed", ()), by_kind.get("authentication_rejected", ())
    if counted := own or from_brokers:
        figures: dict[str, float | str | None] = {
            "clients": counted[0].thing_count,
            "mechanism": join_names(unique_details([*own, *from_brokers])),
        }
        every = [*own, *from_brokers]
        things = [episode.thing for episode in counted]
        yield make_condition(
            "authentication_failed", every, figures, things=things, ongoing=is_ongoing(every, capture_end)
        )


def _unauthorized(by_kind: Mapping[str, Sequence[Episode]], capture_end: datetime | None) -> Iterator[Condition]:
    own, denied = by_kind.get("authorization_failed", ()), by_kind.get("authorization_denied", ())
    if counted := own or denied:
        every = [*own, *denied]
        figures: dict[str, float | str | None] = {
            "denied": join_names(unique_details(denied)),
            "what": join_names(unique_details(own)) or "an operation",
            "clients" if own else "hosts": counted[0].thing_count,
        }
        things = [episode.thing for episode in counted]
        yield make_condition(
            "authorization_failed", every, figures, things=things, ongoing=is_ongoing(every, capture_end)
        )


def _fenced(fenced: Sequence[Episode], capture_end: datetime | None) -> Condition:
    """Return that producers were fenced. Several fenced each other: a newer instance fenced each of them."""
    figures: dict[str, float | str | None] = {
        "ids": join_names(unique_details(fenced)),
        "processes": fenced[0].thing_count if fenced[0].thing_count > 1 else None,
        "clients": fenced[0].thing_count,
    }
    return make_condition("producer_fenced", fenced, figures, ongoing=is_ongoing(fenced, capture_end))


def unique_details(episodes: Iterable[Episode]) -> list[str]:
    """Return the details of all episodes, each once."""
    return sorted({detail for episode in episodes for detail in episode.details if detail})
