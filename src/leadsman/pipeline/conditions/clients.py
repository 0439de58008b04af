"""Clients: rejected, refused, throttled, fenced, or without their position. One subject is one client.

A client.id that a library gave by default names nobody, and an address that a broker saw is the address of a client
whose own log may be there: neither is counted beside the logs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.conditions.connecting import IS_TLS
from leadsman.pipeline.conditions.kinds import condition, goes_on
from leadsman.pipeline.conditions.signs import Sign
from leadsman.words import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from leadsman.condition import Condition
    from leadsman.pipeline.conditions.signs import Run

HOST = "regexp_replace(labels['address'], ':[0-9]+$', '')"
MECHANISM = "nullif(regexp_extract(text, 'SASL mechanism ([A-Z0-9-]+)', 1), '')"
OBJECT = (
    "concat_ws(' ', lower(labels['resource']), "
    "nullif(regexp_extract(text, '(?:topics?|groups?): [^A-Za-z0-9]{0,2}([A-Za-z0-9._-]+)', 1), ''))"
)
DENIED = (
    "concat(labels['operation'], ' on ', lower(labels['resource']), ' ', labels['name'], ' to ', labels['principal'])"
)
BY_BROKER = "source = 'broker'"

SIGNS = (
    Sign(
        kind="authentication_failed",
        names=(names.AUTHENTICATION_FAILED,),
        where=f"NOT ({BY_BROKER}) AND NOT ({IS_TLS})",
        thing="subject",
        detail=MECHANISM,
    ),
    Sign(
        kind="authentication_rejected",
        names=(names.AUTHENTICATION_FAILED,),
        where=f"{BY_BROKER} AND NOT ({IS_TLS})",
        thing=f"coalesce({HOST}, subject)",
        detail=MECHANISM,
    ),
    Sign(
        kind="authorization_failed",
        names=(names.AUTHORIZATION_FAILED,),
        where="labels['principal'] IS NULL",
        thing="subject",
        detail=OBJECT,
    ),
    Sign(
        kind="authorization_denied",
        names=(names.AUTHORIZATION_FAILED,),
        where="labels['principal'] IS NOT NULL",
        thing=f"coalesce({HOST}, subject)",
        detail=DENIED,
    ),
    Sign(
        kind="offsets_reset",
        names=(names.OFFSET_OUT_OF_RANGE,),
        thing="subject",
        detail="concat_ws('-', labels['topic'], labels['partition'])",
    ),
    Sign(kind="client_throttled", names=(names.CLIENT_THROTTLED,), thing="subject", amount="value"),
    Sign(
        kind="producer_fenced",
        names=(names.PRODUCER_FENCED,),
        thing="subject",
        detail="labels['transactional_id']",
    ),
)


def conditions(found: Mapping[str, Sequence[Run]], end: datetime | None) -> Iterator[Condition]:
    """Yield what kept clients from working. `end` is the last time of which the capture tells."""
    yield from _unauthenticated(found, end)
    yield from _unauthorized(found, end)
    if reset := found.get("offsets_reset"):
        yield condition("offsets_reset", reset, {"clients": reset[0].things}, stands=goes_on(reset, end))
    if throttled := found.get("client_throttled"):
        figures: dict[str, float | str | None] = {
            "clients": throttled[0].things,
            "lines": sum(run.times for run in throttled),
            "most": max((run.most or 0.0 for run in throttled), default=None),
        }
        yield condition("client_throttled", throttled, figures, stands=goes_on(throttled, end))
    if fenced := found.get("producer_fenced"):
        yield _fenced(fenced, end)


def _unauthenticated(found: Mapping[str, Sequence[Run]], end: datetime | None) -> Iterator[Condition]:
    own, seen = found.get("authentication_failed", ()), found.get("authentication_rejected", ())
    if who := own or seen:
        figures: dict[str, float | str | None] = {
            "clients": who[0].things,
            "mechanism": listed(details_of([*own, *seen])),
        }
        every = [*own, *seen]
        things = [run.thing for run in who]
        yield condition("authentication_failed", every, figures, things=things, stands=goes_on(every, end))


def _unauthorized(found: Mapping[str, Sequence[Run]], end: datetime | None) -> Iterator[Condition]:
    own, denied = found.get("authorization_failed", ()), found.get("authorization_denied", ())
    if who := own or denied:
        every = [*own, *denied]
        figures: dict[str, float | str | None] = {
            "denied": listed(details_of(denied)),
            "what": listed(details_of(own)) or "an operation",
            "clients" if own else "hosts": who[0].things,
        }
        things = [run.thing for run in who]
        yield condition("authorization_failed", every, figures, things=things, stands=goes_on(every, end))


def _fenced(fenced: Sequence[Run], end: datetime | None) -> Condition:
    """Return that producers were fenced; of several by each other, where each of them is fenced by a newer one."""
    figures: dict[str, float | str | None] = {
        "ids": listed(details_of(fenced)),
        "several": fenced[0].things if fenced[0].things > 1 else None,
        "clients": fenced[0].things,
    }
    return condition("producer_fenced", fenced, figures, stands=goes_on(fenced, end))


def details_of(runs: Iterable[Run]) -> list[str]:
    """Return the details of all runs, each once."""
    return sorted({detail for run in runs for detail in run.details if detail})
