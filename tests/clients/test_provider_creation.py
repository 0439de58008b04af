"""How an instance is made: once for all who wait, with pauses after failures, and in bounded time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from leadsman.clients import CreationFailed, CreationTimedOut, ExpiringProvider, Policy
from leadsman.clients.backoff import Backoff

if TYPE_CHECKING:
    from leadsman.clients.testing import HandClock

SOON = timedelta(seconds=20)
LIMIT = timedelta(seconds=100)
IMPATIENT = 0.05


def test_fifty_threads_at_once_make_one_instance(clock: HandClock) -> None:
    everybody_waits = threading.Event()
    made: list[object] = []

    def create() -> object:
        everybody_waits.wait(SOON.total_seconds())
        made.append(object())
        return made[-1]

    provider = ExpiringProvider(create, clock=clock)
    with ThreadPoolExecutor(50) as pool:
        given = [pool.submit(provider.get) for _ in range(50)]
        everybody_waits.set()
        found = {id(future.result()) for future in given}

    assert len(made) == len(found) == 1


def test_a_creator_that_fails_tells_everybody_who_waits_the_same_cause(clock: HandClock) -> None:
    both_wait, cause = threading.Barrier(2), OSError("no route")

    def create() -> object:
        both_wait.wait(SOON.total_seconds())
        raise cause

    provider = ExpiringProvider(create, clock=clock)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(provider.get)
        both_wait.wait(SOON.total_seconds())

        error = first.exception()

    assert isinstance(error, CreationFailed)
    assert error.__cause__ is cause


def test_after_a_failure_creating_pauses_longer_each_time(clock: HandClock) -> None:
    attempts: list[float] = []

    def create() -> object:
        attempts.append(clock.monotonic)
        raise OSError("no route")

    backoff = Backoff(first=timedelta(seconds=1), uniform=lambda _, high: high)
    provider = ExpiringProvider(create, clock=clock, policy=Policy(backoff=backoff))
    for _ in range(4):
        with pytest.raises(CreationFailed):
            provider.get()

    assert [later - sooner for sooner, later in pairwise(attempts)] == [1, 2, 4]


def test_who_has_less_time_than_the_pause_hears_at_once(clock: HandClock) -> None:
    def create() -> object:
        raise OSError("no route")

    provider = ExpiringProvider(create, clock=clock, policy=Policy(backoff=Backoff(at_least=LIMIT)))
    with pytest.raises(CreationFailed):
        provider.get()

    with pytest.raises(CreationFailed, match=r"next attempt is in 100\.0 s.*no route"):
        provider.get(within=timedelta(seconds=1))


def test_a_creator_that_hangs_holds_nobody_for_longer_than_it_may(clock: HandClock) -> None:
    clock.patience = IMPATIENT
    goes_on, retired = threading.Event(), threading.Event()
    made: list[object] = []

    def create() -> object:
        goes_on.wait(SOON.total_seconds())
        made.append(object())
        return made[-1]

    def retire(late: object, _: timedelta) -> None:
        assert late is made[0]
        retired.set()

    provider = ExpiringProvider(create, retire, clock=clock, policy=Policy(create_within=timedelta(seconds=3)))
    with pytest.raises(CreationTimedOut, match="3 s"):
        provider.get()

    clock.patience = SOON.total_seconds()
    goes_on.set()

    assert retired.wait(SOON.total_seconds())
    assert provider.get() is made[1]


def test_a_creator_that_asks_its_own_provider_is_told(clock: HandClock) -> None:
    def create() -> object:
        return provider.get()

    provider: ExpiringProvider[object] = ExpiringProvider(create, clock=clock)

    with pytest.raises(CreationFailed, match="wait for itself"):
        provider.get()
