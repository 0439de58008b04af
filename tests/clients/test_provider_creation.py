"""How an instance is created: once for all callers, with a backoff after failures, and in bounded time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from leadsman_clients import CreationFailed, CreationTimedOut, ExpiringProvider, Policy
from leadsman_clients.backoff import Backoff

if TYPE_CHECKING:
    from leadsman_clients.testing import ManualClock

SOON = timedelta(seconds=20)
LIMIT = timedelta(seconds=100)
SHORT_WAIT_SECONDS = 0.05


def test_fifty_threads_at_once_make_one_instance(clock: ManualClock) -> None:
    all_wait = threading.Event()
    made: list[object] = []

    def create() -> object:
        all_wait.wait(SOON.total_seconds())
        made.append(object())
        return made[-1]

    provider = ExpiringProvider(create, clock=clock)
    with ThreadPoolExecutor(50) as pool:
        futures = [pool.submit(provider.get) for _ in range(50)]
        all_wait.set()
        instances = {id(future.result()) for future in futures}

    assert len(made) == len(instances) == 1


def test_all_waiters_of_a_failed_creation_get_the_same_cause(clock: ManualClock) -> None:
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


def test_the_pause_doubles_with_each_failed_creation(clock: ManualClock) -> None:
    attempts: list[float] = []

    def create() -> object:
        attempts.append(clock.monotonic)
        raise OSError("no route")

    backoff = Backoff(initial=timedelta(seconds=1), uniform=lambda _, high: high)
    provider = ExpiringProvider(create, clock=clock, policy=Policy(backoff=backoff))
    for _ in range(4):
        with pytest.raises(CreationFailed):
            provider.get()

    assert [later - sooner for sooner, later in pairwise(attempts)] == [1, 2, 4]


def test_a_caller_with_less_time_than_the_backoff_fails_at_once(clock: ManualClock) -> None:
    def create() -> object:
        raise OSError("no route")

    provider = ExpiringProvider(create, clock=clock, policy=Policy(backoff=Backoff(minimum=LIMIT)))
    with pytest.raises(CreationFailed):
        provider.get()

    with pytest.raises(CreationFailed, match=r"next attempt is in 100\.0 s.*no route"):
        provider.get(timeout=timedelta(seconds=1))


def test_a_creation_that_hangs_is_abandoned_after_create_timeout(clock: ManualClock) -> None:
    clock.real_wait_seconds = SHORT_WAIT_SECONDS
    may_continue, retired = threading.Event(), threading.Event()
    made: list[object] = []

    def create() -> object:
        may_continue.wait(SOON.total_seconds())
        made.append(object())
        return made[-1]

    def retire(late: object, _: timedelta) -> None:
        assert late is made[0]
        retired.set()

    provider = ExpiringProvider(create, retire, clock=clock, policy=Policy(create_timeout=timedelta(seconds=3)))
    with pytest.raises(CreationTimedOut, match="3 s"):
        provider.get()

    clock.real_wait_seconds = SOON.total_seconds()
    may_continue.set()

    assert retired.wait(SOON.total_seconds())
    assert provider.get() is made[1]


def test_a_create_function_that_leases_from_its_own_provider_fails(clock: ManualClock) -> None:
    def create() -> object:
        return provider.get()

    provider: ExpiringProvider[object] = ExpiringProvider(create, clock=clock)

    with pytest.raises(CreationFailed, match="wait for itself"):
        provider.get()
