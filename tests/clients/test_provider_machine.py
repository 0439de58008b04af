"""Whatever is done to a provider in whatever order: nobody holds a closed instance, none is closed twice."""

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

from leadsman.clients import ExpiringProvider, Policy, ProviderClosed, Retire
from leadsman.clients.testing import HandClock

if TYPE_CHECKING:
    from leadsman.clients import Lease

IDLE_SECONDS, AGE_SECONDS, GRACE_SECONDS = 60.0, 300.0, 100_000.0


class Instance:
    """What the provider gives out here; knows when it was made and last proved alive, by the model's own account."""

    def __init__(self, number: int, now: float) -> None:
        self.number = number
        self.made = self.alive = now
        self.beyond_use = False

    def good(self, now: float) -> bool:
        return not self.beyond_use and now - self.alive < IDLE_SECONDS and now - self.made < AGE_SECONDS


class ProviderMachine(RuleBasedStateMachine):
    """Leases, releases, failures, resets, forks and time in any order, against a model of a few lines."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = HandClock()
        self.numbers = count(1)
        self.made: list[Instance] = []
        self.closed: list[Instance] = []
        self.held: list[Lease[Instance]] = []
        self.ended = False
        policy = Policy(
            max_idle=timedelta(seconds=IDLE_SECONDS),
            max_age=timedelta(seconds=AGE_SECONDS),
            jitter=0,
            retire=Retire.INLINE,
            grace=timedelta(seconds=GRACE_SECONDS),
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
        return last if last is not None and last.good(self.clock.monotonic) else None

    @precondition(lambda self: not self.ended and len(self.held) < 5)
    @rule()
    def lease(self) -> None:
        expected, before = self.expected(), len(self.made)
        lease = self.provider.lease()
        self.held.append(lease)
        assert lease.value is (expected or self.made[-1])
        assert len(self.made) == before + (expected is None)
        assert lease.value.good(self.clock.monotonic)

    @precondition(lambda self: self.held)
    @rule(index=st.integers(0, 4), failed=st.booleans())
    def release(self, index: int, *, failed: bool) -> None:
        lease = self.held.pop(index % len(self.held))
        value = lease.value
        lease.release(OSError("broken") if failed else None)
        if not failed:
            value.alive = self.clock.monotonic

    @precondition(lambda self: self.held)
    @rule(index=st.integers(0, 4))
    def fail(self, index: int) -> None:
        lease = self.held[index % len(self.held)]
        was_live = lease.value is self.made[-1] and not lease.value.beyond_use and not self.ended
        said = lease.fail("broken")
        assert said is False or was_live
        lease.value.beyond_use = True

    @precondition(lambda self: not self.ended)
    @rule()
    def reset(self) -> None:
        self.provider.reset()
        for instance in self.made[-1:]:
            instance.beyond_use = True

    @rule(seconds=st.floats(0.1, 200.0))
    def time_passes(self, seconds: float) -> None:
        self.clock.pass_by(seconds)

    @precondition(lambda self: not self.ended)
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
            for lease in self.held:
                lease.release()
            self.provider.close()
        except BaseException:  # noqa: BLE001 (the edge of a process)
            traceback.print_exc()  # else nobody learns of it
            sys.stderr.flush()
            return 2
        return 0 if fresh and self.closed[closed:] == [own] else 1

    @precondition(lambda self: not self.ended and self.made)
    @rule()
    def close(self) -> None:
        assert self.provider.close()
        self.ended = True
        with pytest.raises(ProviderClosed):
            self.provider.lease()
        assert {each.number for each in self.closed} == {each.number for each in self.made}

    @invariant()
    def nobody_holds_what_is_closed(self) -> None:
        assert self.ended or not {lease.value.number for lease in self.held} & {each.number for each in self.closed}

    @invariant()
    def nothing_is_closed_twice(self) -> None:
        numbers = [each.number for each in self.closed]
        assert len(numbers) == len(set(numbers))

    @invariant()
    def what_is_neither_held_nor_live_is_closed(self) -> None:
        """The last one made may be live; the ones before it are gone once nobody holds them."""
        held = {lease.value.number for lease in self.held}
        open_still = {each.number for each in self.made[:-1]} - {each.number for each in self.closed} - held
        assert open_still == set()

    def teardown(self) -> None:
        self.provider.close()


def test_no_order_of_events_breaks_a_provider() -> None:
    run_state_machine_as_test(
        ProviderMachine,
        settings=settings(
            max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
        ),
    )
