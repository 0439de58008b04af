"""In any order of operations: no leased instance is closed, and none is closed twice."""

from __future__ import annotations

import os
import sys
import traceback
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from leadsman_clients import ExpiringProvider, Policy, ProviderClosed, Retirement
from leadsman_clients.testing import ManualClock

if TYPE_CHECKING:
    from leadsman_clients import Lease

IDLE_SECONDS, AGE_SECONDS, GRACE_SECONDS = 60.0, 300.0, 100_000.0


class Instance:
    """An instance of the model: knows when it was created and last proved to be alive."""

    def __init__(self, number: int, now: float) -> None:
        self.number = number
        self.created_at = self.alive_at = now
        self.has_failed = False

    def is_good(self, now: float) -> bool:
        return not self.has_failed and now - self.alive_at < IDLE_SECONDS and now - self.created_at < AGE_SECONDS


class ProviderMachine(RuleBasedStateMachine):
    """Leases, releases, failures, resets, forks and time in any order, against a model of a few lines."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.numbers = count(1)
        self.made: list[Instance] = []
        self.closed: list[Instance] = []
        self.leased: list[Lease[Instance]] = []
        self.is_closed = False
        policy = Policy(
            max_idle=timedelta(seconds=IDLE_SECONDS),
            max_age=timedelta(seconds=AGE_SECONDS),
            jitter=0,
            retirement=Retirement.INLINE,
            grace_period=timedelta(seconds=GRACE_SECONDS),
        )
        self.provider = ExpiringProvider(self.create, self.retire, policy=policy, clock=self.clock)

    def create(self) -> Instance:
        self.made.append(Instance(next(self.numbers), self.clock.monotonic))
        return self.made[-1]

    def retire(self, instance: Instance, _: timedelta) -> None:
        self.closed.append(instance)

    def expected(self) -> Instance | None:
        """Return the instance that the next lease must get, or None: a new one."""
        last = self.made[-1] if self.made else None
        return last if last is not None and last.is_good(self.clock.monotonic) else None

    @precondition(lambda self: not self.is_closed and len(self.leased) < 5)
    @rule()
    def lease(self) -> None:
        expected, before = self.expected(), len(self.made)
        lease = self.provider.lease()
        self.leased.append(lease)
        assert lease.value is (expected or self.made[-1])
        assert len(self.made) == before + (expected is None)
        assert lease.value.is_good(self.clock.monotonic)

    @precondition(lambda self: self.leased)
    @rule(index=st.integers(0, 4), failed=st.booleans())
    def release(self, index: int, *, failed: bool) -> None:
        lease = self.leased.pop(index % len(self.leased))
        value = lease.value
        lease.release(OSError("broken") if failed else None)
        if not failed:
            value.alive_at = self.clock.monotonic

    @precondition(lambda self: self.leased)
    @rule(index=st.integers(0, 4))
    def fail(self, index: int) -> None:
        lease = self.leased[index % len(self.leased)]
        was_live = lease.value is self.made[-1] and not lease.value.has_failed and not self.is_closed
        was_replaced = lease.invalidate("broken")
        assert was_replaced is False or was_live
        lease.value.has_failed = True

    @precondition(lambda self: not self.is_closed)
    @rule()
    def reset(self) -> None:
        self.provider.reset()
        for instance in self.made[-1:]:
            instance.has_failed = True

    @rule(seconds=st.floats(0.1, 200.0))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @precondition(lambda self: not self.is_closed)
    @rule()
    def fork(self) -> None:
        """In a real child process: an instance of its own, and nothing inherited is closed."""
        made, closed = len(self.made), len(self.closed)
        pid = os.fork()
        if pid == 0:
            os._exit(self.child(made, closed))
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0

    def child(self, made: int, closed: int) -> int:
        try:
            with self.provider.lease() as own:
                fresh = own is self.made[-1] and len(self.made) == made + 1
            for lease in self.leased:
                lease.release()
            self.provider.close()
        except BaseException:  # noqa: BLE001 - the edge of a process
            traceback.print_exc()  # the parent sees the exit code only
            sys.stderr.flush()
            return 2
        return 0 if fresh and self.closed[closed:] == [own] else 1

    @precondition(lambda self: not self.is_closed and self.made)
    @rule()
    def close(self) -> None:
        assert self.provider.close()
        self.is_closed = True
        with pytest.raises(ProviderClosed):
            self.provider.lease()
        assert {each.number for each in self.closed} == {each.number for each in self.made}

    @invariant()
    def no_leased_instance_is_closed(self) -> None:
        assert self.is_closed or not {lease.value.number for lease in self.leased} & {
            each.number for each in self.closed
        }

    @invariant()
    def no_instance_is_closed_twice(self) -> None:
        numbers = [each.number for each in self.closed]
        assert len(numbers) == len(set(numbers))

    @invariant()
    def instances_neither_leased_nor_live_are_closed(self) -> None:
        """The last one created may be live; the others are closed after their last lease."""
        leased = {lease.value.number for lease in self.leased}
        open_numbers = {each.number for each in self.made[:-1]} - {each.number for each in self.closed} - leased
        assert open_numbers == set()

    def teardown(self) -> None:
        self.provider.close()


@pytest.mark.parametrize("examples", [20, pytest.param(1000, marks=[pytest.mark.long, pytest.mark.timeout(1800)])])
def test_no_order_of_events_breaks_a_provider(examples: int) -> None:
    run_state_machine_as_test(
        ProviderMachine,
        settings=settings(
            max_examples=examples, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
        ),
    )
