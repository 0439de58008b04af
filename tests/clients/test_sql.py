"""Connections of a real PostgreSQL whose password rotates, as RDS's tokens do."""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from pg8000 import dbapi
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import DBAPIError

from leadsman.clients import ExpiringProvider, Policy
from leadsman.clients.sql import creator, expire_connections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leadsman.clients.testing import HandClock

TOKEN_LIVES = timedelta(minutes=15)
WRONG_PASSWORD = "28P01"


def rejected(error: Exception) -> bool:
    return isinstance(error, dbapi.DatabaseError) and error.args[0].get("C") == WRONG_PASSWORD


class Rds:
    """Gives out a token, and lets it expire by rotating the password, as IAM authentication does."""

    def __init__(self, server: Any, clock: HandClock) -> None:
        self._server = server
        self.clock = clock
        self._numbers = count(1)
        self.asked = self.tried = 0
        self.rotate()

    def rotate(self) -> None:
        self.token = f"token-{id(self)}-{next(self._numbers)}"
        self._server.run(f"alter user app password '{self.token}'")

    def ask(self) -> str:
        self.asked += 1
        return self.token

    def connect(self, token: str) -> Any:
        self.tried += 1
        return self._server.connect("app", token)


@pytest.fixture
def rds(server: Any, clock: HandClock) -> Rds:
    return Rds(server, clock)


@pytest.fixture
def tokens(rds: Rds, clock: HandClock) -> Iterator[ExpiringProvider[str]]:
    policy = Policy(max_age=TOKEN_LIVES - timedelta(minutes=1), jitter=0)
    with ExpiringProvider(rds.ask, policy=policy, clock=clock, name="tokens") as provider:
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


def test_a_new_connection_gets_a_token_of_now_and_an_old_one_lives_on(rds, tokens, made, clock: HandClock) -> None:
    engine = made(creator(rds.connect, tokens, rejected=rejected))
    first = backend(engine)

    with engine.connect() as held:
        rds.rotate()
        clock.pass_by(TOKEN_LIVES.total_seconds())
        second = backend(engine)
        still = held.execute(text("select pg_backend_pid()")).scalar_one()

    assert still == first != second
    assert (rds.asked, rds.tried) == (2, 2)


def test_a_token_that_was_rotated_early_is_asked_for_anew(rds, tokens, made) -> None:
    engine = made(creator(rds.connect, tokens, rejected=rejected))
    with engine.connect():
        rds.rotate()

        other = backend(engine)

    assert other > 0
    assert (rds.asked, rds.tried) == (2, 3)
    assert tokens.stats.expired == {"failed": 1}


def test_a_token_that_is_baked_in_fails_once_it_is_rotated(rds, made) -> None:
    token = rds.ask()
    engine = made(lambda: rds.connect(token))
    with engine.connect():
        rds.rotate()

        with pytest.raises(DBAPIError, match="password authentication failed"):
            backend(engine)


def test_a_token_that_is_refused_twice_is_the_callers_to_know_of(rds, tokens, made, server: Any) -> None:
    engine = made(creator(rds.connect, tokens, rejected=rejected))
    server.run("alter user app password 'nobody knows'")

    with pytest.raises(DBAPIError, match="password authentication failed"):
        backend(engine)

    assert rds.tried == 2


def test_a_connection_that_died_while_idle_is_replaced_before_it_is_used(rds, tokens, made, server) -> None:
    engine = made(creator(rds.connect, tokens, rejected=rejected))
    expire_connections(engine, Policy(max_idle=timedelta(seconds=280)), clock=rds.clock)
    first = backend(engine)
    rds.clock.pass_by(200)
    same = backend(engine)

    server.run(f"select pg_terminate_backend({first})")
    rds.clock.boot += 280  # the machine slept: no other clock noticed
    second = backend(engine)

    assert same == first != second


def test_a_plain_pool_hands_the_dead_connection_out(rds, tokens, made, server) -> None:
    engine = made(creator(rds.connect, tokens, rejected=rejected))
    first = backend(engine)

    server.run(f"select pg_terminate_backend({first})")

    with pytest.raises((DBAPIError, OSError)):  # pg8000 lets a reset socket's own error through
        backend(engine)


def test_a_connection_is_replaced_when_it_is_old(rds, tokens, made, clock: HandClock) -> None:
    engine = made(creator(rds.connect, tokens, rejected=rejected))
    expire_connections(engine, Policy(max_age=timedelta(hours=1), jitter=0), clock=clock)
    first = backend(engine)

    clock.pass_by(3600)

    assert backend(engine) != first
