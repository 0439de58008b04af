"""Database connections whose password expires, in SQLAlchemy's pool.

Two lifetimes, and they differ: a token (RDS: 15 minutes) is asked for when a connection is made, and a connection
outlives it; a connection that was quiet for too long is dead, however fresh the token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from leadsman.clients.clock import SystemClock
from leadsman.clients.errors import MissingLibrary
from leadsman.clients.lifecycle import Generation

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.clients.clock import Clock
    from leadsman.clients.policy import Policy
    from leadsman.clients.provider import ExpiringProvider

T = TypeVar("T")

OURS = "leadsman.generation"
"""Where a connection's age is kept, among what SQLAlchemy keeps of it."""


def creator(
    connect: Callable[[str], T], tokens: ExpiringProvider[str], *, rejected: Callable[[Exception], bool]
) -> Callable[[], T]:
    """Return what `create_engine(creator=...)` wants: it connects with a token that is live at that moment.

    Where the token is `rejected` all the same, because it was rotated early, a new one is asked for, once.
    """

    def make() -> T:
        token = tokens.get()
        try:
            return connect(token)
        except Exception as error:
            if not rejected(error):
                raise
            tokens.invalidate(error, instance=token)
        return connect(tokens.get())

    return make


def expire_connections(engine: Any, policy: Policy, *, clock: Clock | None = None) -> None:  # noqa: ANN401 (a sqlalchemy.Engine)
    """Have the pool replace a connection that was idle or old for too long, by any clock, before it is used.

    SQLAlchemy's own `pool_recycle` counts by the wall clock alone and from the creation; `pool_pre_ping` costs a round
    trip at each use, and on a path that drops in silence its own timeout.
    """
    try:
        from sqlalchemy import event  # noqa: PLC0415 (only who uses it needs it)
        from sqlalchemy.exc import DisconnectionError  # noqa: PLC0415 (the same)
    except ImportError as error:
        raise MissingLibrary("SQLAlchemy is not installed. Install it: pip install sqlalchemy") from error
    read = (clock or SystemClock()).read

    def made(_: Any, record: Any) -> None:  # noqa: ANN401 (SQLAlchemy's own)
        record.info[OURS] = Generation(None, 0, read(), policy)

    def taken(_: Any, record: Any, __: Any) -> None:  # noqa: ANN401 (the same)
        reason = record.info[OURS].outlived(read())
        if reason is not None:
            raise DisconnectionError(f"The connection outlived its {reason} limit.")  # the pool makes another

    def returned(connection: Any, record: Any) -> None:  # noqa: ANN401 (the same)
        if connection is not None and OURS in record.info:
            record.info[OURS].active = read()

    for name, listener in (("connect", made), ("checkout", taken), ("checkin", returned)):
        event.listen(engine, name, listener)
