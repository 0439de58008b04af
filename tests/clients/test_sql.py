"""Connections of a real PostgreSQL whose password rotates, like the tokens of RDS."""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from pg8000 import dbapi
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import DBAPIError

from leadsman_clients import ExpiringProvider, Policy
from leadsman_clients.sql import creator, recycle_connections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leadsman_clients.testing import ManualClock

TOKEN_LIVES = timedelta(minutes=15)
WRONG_PASSWORD = "28P01"


def rejected(error: Exception) -> bool:
    return isinstance(error, dbapi.DatabaseError) and error.args[0].get("C") == WRONG_PASSWORD


class Rds:
    """Gives out a token, and lets it expire by rotating the password, as IAM authentication does."""

    def __init__(self, server: Any, clock: ManualClock) -> None:
        self._server = server
        self.clock = clock
        self._numbers = count(1)
        self.tokens_given = self.connects = 0
        self.rotate()

    def rotate(self) -> None:
        self.token = f"token-{id(self)}-{next(self._numbers)}"
        self._server.run(f"alter user app password '{self.token}'")

    def new_token(self) -> str:
        self.tokens_given += 1
        return self.token

    def connect(self, token: str) -> Any:
        self.connects += 1
        return self._server.connect("app", token)


@pytest.fixture
def rds(server: Any, clock: ManualClock) -> Rds:
    return Rds(server, clock)


@pytest.fixture
def tokens(rds: Rds, clock: ManualClock) -> Iterator[ExpiringProvider[str]]:
    policy = Policy(max_age=TOKEN_LIVES - timedelta(minutes=1), jitter=0)
    with ExpiringProvider(rds.new_token, policy=policy, clock=clock, name="tokens") as provider:
        yield provider


@pytest.fixture
def made() -> Iterator[Callable[..., Engine]]:
    engines: list[Engine] = []

    def make(connect: Callable[[], Any]) -> Engine:
        engines.append(create_engine("postgresql+pg8000://", creator=connect, pool_size=1, max_overflow=4))
        return engines[-1]

    yield make
    deque(map(Engine.dispose, engines), maxlen=0)


def backend(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text("select pg_backend_pid()")).scalar_one())


def test_a_new_connection_gets_a_live_token_and_an_old_connection_stays_open(
    rds, tokens, made, clock: ManualClock
) -> None:
    engine = made(creator(rds.connect, tokens, rejected=rejected))
    first = backend(engine)

    with engine.connect() as old:
        rds.rotate()
        clock.advance(TOKEN_LIVES.total_seconds())
        second = backend(engine)
        backend_of_old = old.execute(text("select pg_backend_pid()")).scalar_one()

    assert backend_of_old == first != second
    assert (rds.tokens_given, rds.connects) == (2, 2)


def test_a_token_that_was_rotated_early_is_replaced(rds, tokens, made) -> None:
    engine = made(creator(rds.connect, tokens, rejected=rejected))
    with engine.connect():
        rds.rotate()

        other = backend(engine)

    assert other > 0
    assert (rds.tokens_given, rds.connects) == (2, 3)
    assert tokens.stats.expired == {"failed": 1}


def test_a_constant_token_fails_after_it_was_rotated(rds, made) -> None:
    token = rds.new_token()
    engine = made(lambda: rds.connect(token))
    with engine.connect():
        rds.rotate()

        with pytest.raises(DBAPIError, match="password authentication failed"):
            backend(engine)


def test_a_token_that_is_rejected_twice_raises(rds, tokens, made, server: Any) -> None:
    engine = made(creator(rds.connect, tokens, rejected=rejected))
    server.run("alter user app password 'another password'")

    with pytest.raises(DBAPIError, match="password authentication failed"):
        backend(engine)

    assert rds.connects == 2


def test_a_connection_that_died_while_idle_is_replaced_before_it_is_used(rds, tokens, made, server) -> None:
    engine = made(creator(rds.connect, tokens, rejected=rejected))
    recycle_connections(engine, Policy(max_idle=timedelta(seconds=280)), clock=rds.clock)
    first = backend(engine)
    rds.clock.advance(200)
    same = backend(engine)

    server.run(f"select pg_terminate_backend({first})")
    rds.clock.boot += 280  # the machine slept: no other clock noticed
    second = backend(engine)

    assert same == first != second


def test_a_plain_pool_gives_out_the_dead_connection(rds, tokens, made, server) -> None:
    engine = made(creator(rds.connect, tokens, rejected=rejected))
    first = backend(engine)

    server.run(f"select pg_terminate_backend({first})")

    with pytest.raises((DBAPIError, OSError)):  # pg8000 lets a reset socket's own error through
        backend(engine)


def test_a_connection_is_replaced_when_it_is_old(rds, tokens, made, clock: ManualClock) -> None:
    engine = made(creator(rds.connect, tokens, rejected=rejected))
    recycle_connections(engine, Policy(max_age=timedelta(hours=1), jitter=0), clock=clock)
    first = backend(engine)

    clock.advance(3600)

    assert backend(engine) != first
