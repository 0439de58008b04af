"""SQLAlchemy connections whose password expires.

Two lifetimes, and they differ: a token (RDS: 15 minutes) is needed when a connection is made, and a connection outlives
its token; a connection that was idle for too long is dead, however fresh the token is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from leadsman_clients.clock import SystemClock
from leadsman_clients.errors import MissingLibrary
from leadsman_clients.instance._lifecycle import ManagedInstance

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman_clients.clock import Clock
    from leadsman_clients.instance.policy import Policy
    from leadsman_clients.instance.provider import ExpiringProvider

T = TypeVar("T")

MANAGED_KEY = "leadsman.managed"
"""The key of a connection's times in SQLAlchemy's `ConnectionPoolEntry.info`."""


def creator(
    connect: Callable[[str], T], tokens: ExpiringProvider[str], *, rejected: Callable[[Exception], bool]
) -> Callable[[], T]:
    """Return a function for `create_engine(creator=...)`: it connects with a token that is live at that moment.

    Where `rejected(error)` is true, because the token was rotated early, it connects with a new token, once.
    """

    def connect_with_token() -> T:
        token = tokens.get()
        try:
            return connect(token)
        except Exception as error:
            if not rejected(error):
                raise
            tokens.invalidate(error, instance=token)
        return connect(tokens.get())

    return connect_with_token


def recycle_connections(engine: Any, policy: Policy, *, clock: Clock | None = None) -> None:  # noqa: ANN401 - a sqlalchemy.Engine
    """Have the pool replace a connection that was idle or old for too long, by any clock, before it is used.

    SQLAlchemy's own `pool_recycle` counts by the wall clock alone and from the creation; `pool_pre_ping` costs a round
    trip at each use, and on a path that drops without a packet its own timeout.
    """
    try:
        from sqlalchemy import event
        from sqlalchemy.exc import DisconnectionError
    except ImportError as error:
        raise MissingLibrary("SQLAlchemy is not installed. Install it: pip install sqlalchemy") from error
    read_clock = (clock or SystemClock()).read

    def on_connect(_: Any, entry: Any) -> None:  # noqa: ANN401 - SQLAlchemy's own
        entry.info[MANAGED_KEY] = ManagedInstance(None, 0, read_clock(), policy)

    def on_checkout(_: Any, entry: Any, __: Any) -> None:  # noqa: ANN401 - the same
        reason = entry.info[MANAGED_KEY].exceeded_limit(read_clock())
        if reason is not None:
            raise DisconnectionError(f"The connection exceeded its {reason} limit.")  # the pool makes another

    def on_checkin(connection: Any, entry: Any) -> None:  # noqa: ANN401 - the same
        if connection is not None and MANAGED_KEY in entry.info:
            entry.info[MANAGED_KEY].last_active_at = read_clock()

    for name, listener in (("connect", on_connect), ("checkout", on_checkout), ("checkin", on_checkin)):
        event.listen(engine, name, listener)
