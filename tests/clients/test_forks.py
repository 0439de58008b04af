"""A child process makes an instance of its own, and leaves its parent's untouched."""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING

from leadsman_clients import ExpiringProvider

if TYPE_CHECKING:
    from collections.abc import Callable

SOON = 20


def in_child(work: Callable[[], bool]) -> bool:
    """Fork, and return the result of `work` in the child."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if work() else 1)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status) == 0


def retire_in(pids: list[int]) -> Callable[[int, timedelta], None]:
    return lambda pid, _: pids.append(pid)


def test_a_child_gets_an_instance_of_its_own_and_closes_none_of_its_parents() -> None:
    closed: list[int] = []
    provider = ExpiringProvider(os.getpid, retire_in(closed))
    parents = provider.get()

    def work() -> bool:
        own = provider.get()
        provider.close()
        return own == os.getpid() and closed == [own] and provider.stats.expired["forked"] == 1

    assert in_child(work)
    assert provider.get() == parents
    assert closed == []


def test_releasing_an_inherited_lease_in_a_child_does_nothing() -> None:
    closed: list[int] = []
    provider = ExpiringProvider(os.getpid, retire_in(closed))
    lease = provider.lease()

    def work() -> bool:
        lease.release()
        return provider.get() == os.getpid() and closed == []

    assert in_child(work)
    lease.release()


def test_a_fork_during_a_creation_leaves_the_child_free_to_create() -> None:
    creating, may_continue = threading.Event(), threading.Event()

    def create() -> int:
        creating.set()
        may_continue.wait(SOON)
        return os.getpid()

    provider = ExpiringProvider(create)
    waiting = threading.Thread(target=provider.get)
    waiting.start()
    creating.wait(SOON)

    def work() -> bool:
        may_continue.set()
        return provider.get(timeout=timedelta(seconds=SOON)) == os.getpid()

    assert in_child(work)
    may_continue.set()
    waiting.join(SOON)
    assert provider.get() == os.getpid()


def test_a_closed_provider_stays_closed_in_a_child() -> None:
    provider = ExpiringProvider(os.getpid)
    provider.close()

    def work() -> bool:
        return "closed" in repr(provider)

    assert in_child(work)


def test_a_spawned_process_takes_a_pickled_copy() -> None:
    """What it calls there comes from installed packages: a new interpreter need not find this file's folder."""
    provider = ExpiringProvider(os.getpid)
    provider.get()

    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        child_pid = pool.submit(os.getpid).result(SOON)
        provided_pid = pool.submit(provider.get).result(SOON)

    assert provided_pid == child_pid != os.getpid()
