"""When an instance is replaced, and what must never happen to a leased one."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING

import pytest

from leadsman.waiting import wait_for
from leadsman_clients import (
    Activity,
    EventKind,
    ExpiringProvider,
    ExpiryReason,
    LeaseMisused,
    Policy,
    ProviderClosed,
    Retirement,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman_clients.testing import EventRecorder, ManualClock

SOON = timedelta(seconds=20)
LIMIT = timedelta(seconds=100)
SHORT_WAIT_SECONDS = 0.05


@dataclass(eq=False)
class Connection:
    number: int
    closed: int = 0


@dataclass
class Maker:
    """Creates and closes connections, and records both."""

    made: list[Connection] = field(default_factory=list)
    numbers: count[int] = field(default_factory=count)

    def create(self) -> Connection:
        self.made.append(Connection(next(self.numbers)))
        return self.made[-1]

    def retire(self, connection: Connection, _: timedelta) -> None:
        connection.closed += 1


@pytest.fixture
def maker() -> Maker:
    return Maker()


@pytest.fixture
def provide(maker: Maker, clock: ManualClock, recorder: EventRecorder) -> Callable[..., ExpiringProvider[Connection]]:
    def make(**policy: object) -> ExpiringProvider[Connection]:
        chosen = replace(Policy(max_idle=LIMIT, retirement=Retirement.INLINE), **policy)  # type: ignore[arg-type]
        return ExpiringProvider(maker.create, maker.retire, policy=chosen, on_event=recorder, clock=clock)

    return make


def use(provider: ExpiringProvider[Connection]) -> int:
    with provider.lease() as connection:
        return connection.number


def test_all_callers_get_the_same_instance(provide) -> None:
    provider = provide()

    assert [use(provider), use(provider), provider.get().number] == [0, 0, 0]


def test_just_before_the_limit_an_instance_is_kept(provide, clock: ManualClock) -> None:
    provider = provide()
    use(provider)

    clock.advance(99.9)

    assert use(provider) == 0


def test_exactly_at_the_limit_it_is_replaced_and_closed_once(provide, clock: ManualClock, maker: Maker) -> None:
    provider = provide()
    use(provider)

    clock.advance(100)

    assert [use(provider), use(provider)] == [1, 1]
    assert [connection.closed for connection in maker.made] == [1, 0]


@pytest.mark.parametrize("moved", ["monotonic", "boot", "wall"])
def test_a_freeze_counts_by_whichever_clock_moved(provide, clock: ManualClock, moved: str) -> None:
    provider = provide()
    use(provider)

    setattr(clock, moved, getattr(clock, moved) + 100)

    assert use(provider) == 1


def test_a_wall_clock_that_is_set_back_replaces_nothing_and_emits_an_event(
    provide, clock: ManualClock, recorder: EventRecorder
) -> None:
    provider = provide()
    use(provider)

    clock.wall -= 3600
    use(provider)

    assert use(provider) == 0
    provider.reset()
    assert EventKind.CLOCK_SET_BACK in recorder.kinds()


def test_a_use_without_an_error_restarts_the_idle_time(provide, clock: ManualClock) -> None:
    provider = provide()
    use(provider)
    clock.advance(60)
    use(provider)

    clock.advance(60)

    assert use(provider) == 0


def test_a_use_with_an_error_does_not_restart_the_idle_time(provide, clock: ManualClock) -> None:
    provider = provide()
    use(provider)
    clock.advance(60)
    with pytest.raises(ValueError, match="no answer"), provider.lease():
        raise ValueError("no answer")

    clock.advance(60)

    assert use(provider) == 1


def test_with_activity_touch_only_touch_restarts_the_idle_time(provide, clock: ManualClock) -> None:
    provider = provide(activity=Activity.TOUCH)
    use(provider)
    clock.advance(60)
    use(provider)
    clock.advance(60)
    replaced = use(provider)
    clock.advance(60)
    provider.touch()

    clock.advance(60)

    assert (replaced, use(provider)) == (1, 1)


def test_an_open_lease_is_no_activity(provide, clock: ManualClock) -> None:
    provider = provide()
    lease = provider.lease()

    clock.advance(100)

    assert use(provider) == 1
    lease.release()


def test_a_leased_instance_is_closed_only_after_its_release(provide, clock: ManualClock, maker: Maker) -> None:
    provider = provide()
    lease = provider.lease()
    clock.advance(100)
    use(provider)
    before = lease.value.closed

    lease.release()

    assert (before, maker.made[0].closed) == (0, 1)


def test_an_expired_instance_is_closed_after_the_grace_period_though_it_is_leased(
    provide, clock: ManualClock, maker: Maker, recorder: EventRecorder
) -> None:
    provider = provide(grace_period=timedelta(seconds=30))
    lease = provider.lease()
    clock.advance(100)
    use(provider)
    clock.advance(30)
    provider.reset()

    lease.release()

    assert maker.made[0].closed == 1
    assert [event.generation for event in recorder.of_kind(EventKind.OVERSTAYED)] == [1]


def test_an_old_instance_is_replaced_even_if_it_is_busy(provide, clock: ManualClock, recorder: EventRecorder) -> None:
    provider = provide(max_idle=None, max_age=LIMIT, uniform=lambda _, high: high, jitter=0.2)
    use(provider)
    clock.advance(79.9)
    before = use(provider)

    clock.advance(0.2)

    assert (before, use(provider)) == (0, 1)
    assert [event.reason for event in recorder.of_kind(EventKind.EXPIRED)] == [ExpiryReason.AGE]


def test_a_failed_instance_is_replaced_and_late_reports_about_it_are_ignored(provide) -> None:
    provider = provide()
    lease = provider.lease()
    replaced = [lease.invalidate("fenced")]
    use(provider)

    replaced += [lease.invalidate("fenced, again"), provider.invalidate("late", generation=1)]

    assert replaced == [True, False, False]
    assert use(provider) == 1
    lease.release()


def test_a_fatal_error_in_the_block_replaces_the_instance(maker: Maker, clock: ManualClock) -> None:
    provider = ExpiringProvider(
        maker.create, maker.retire, clock=clock, fatal=lambda error: isinstance(error, ConnectionError)
    )
    with pytest.raises(KeyError), provider.lease():
        raise KeyError
    after_another_error = use(provider)

    with pytest.raises(ConnectionResetError), provider.lease():
        raise ConnectionResetError

    assert (after_another_error, use(provider)) == (0, 1)


def test_an_unusable_instance_is_replaced(maker: Maker, clock: ManualClock) -> None:
    clock.real_wait_seconds = SHORT_WAIT_SECONDS
    provider = ExpiringProvider(
        maker.create, maker.retire, clock=clock, usable=lambda connection: connection.number > 1
    )

    assert use(provider) == 2


def test_retire_may_use_the_provider_and_may_raise(maker: Maker, clock: ManualClock, recorder: EventRecorder) -> None:
    used: list[int] = []

    def retire(_: Connection, __: timedelta) -> None:
        used.append(use(provider))
        raise OSError("already closed")

    provider = ExpiringProvider(
        maker.create,
        retire,
        clock=clock,
        on_event=recorder,
        policy=Policy(max_idle=LIMIT, retirement=Retirement.INLINE),
    )
    use(provider)
    clock.advance(100)
    use(provider)

    wait_for(lambda: recorder.of_kind(EventKind.CLOSED), timeout=SOON, what="the retirement")
    assert used == [1]
    assert "already closed" in recorder.of_kind(EventKind.CLOSED)[0].message


def test_retirements_that_hang_do_not_stop_later_ones(
    maker: Maker, clock: ManualClock, recorder: EventRecorder
) -> None:
    may_continue, closed, hanging = threading.Event(), [], []

    def retire(connection: Connection, _: timedelta) -> None:
        if connection.number < 2:
            hanging.append(connection)
            may_continue.wait(SOON.total_seconds())
        closed.append(connection.number)

    provider = ExpiringProvider(
        maker.create, retire, clock=clock, on_event=recorder, policy=Policy(max_retire_threads=2, retire_timeout=LIMIT)
    )
    for _ in range(2):
        use(provider)
        provider.reset()
    wait_for(lambda: len(hanging) == 2, timeout=SOON, what="two retirements that hang")
    clock.advance(201)
    use(provider)
    provider.reset()

    wait_for(lambda: closed == [2], timeout=SOON, what="the third to be closed")
    assert [event.generation for event in recorder.of_kind(EventKind.ABANDONED)] == [1, 2]
    may_continue.set()


def test_close_closes_leased_instances_too_and_leases_none_any_more(provide, maker: Maker) -> None:
    provider = provide()
    lease = provider.lease()

    assert provider.close()

    lease.release()
    assert provider.close()
    assert maker.made[0].closed == 1
    with pytest.raises(ProviderClosed, match="closed"):
        provider.get()


def test_an_instance_that_is_created_after_close_is_closed(maker: Maker, clock: ManualClock) -> None:
    creating, may_continue = threading.Event(), threading.Event()

    def create() -> Connection:
        creating.set()
        may_continue.wait(SOON.total_seconds())
        return maker.create()

    provider = ExpiringProvider(create, maker.retire, clock=clock)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(provider.get)
        creating.wait(SOON.total_seconds())
        provider.close()
        may_continue.set()

    wait_for(lambda: maker.made and maker.made[0].closed == 1, timeout=SOON, what="the late instance to be closed")


def test_a_lease_is_released_once(provide) -> None:
    lease = provide().lease()
    lease.release()

    with pytest.raises(LeaseMisused, match="before"):
        lease.release()
    with pytest.raises(LeaseMisused, match="released"):
        _ = lease.value


def test_a_lease_that_is_garbage_collected_emits_an_event_and_keeps_no_instance_open(
    provide, clock: ManualClock, maker: Maker, recorder: EventRecorder
) -> None:
    provider = provide()
    provider.lease()

    clock.advance(100)
    use(provider)

    assert maker.made[0].closed == 1
    assert EventKind.LEAKED in recorder.kinds()


def test_a_provider_that_is_garbage_collected_closes_its_instance(maker: Maker) -> None:
    provider = ExpiringProvider(maker.create, maker.retire)
    use(provider)

    del provider

    wait_for(lambda: maker.made[0].closed, timeout=SOON, what="the instance to be closed")


def test_an_error_of_the_listener_is_ignored(maker: Maker) -> None:
    def listen(_: object) -> None:
        raise RuntimeError("listener failed")

    provider = ExpiringProvider(maker.create, on_event=listen)

    assert use(provider) == 0


def test_a_pickled_provider_starts_empty() -> None:
    provider: ExpiringProvider[dict[str, str]] = ExpiringProvider(dict, policy=Policy(max_idle=LIMIT), name="copied")
    provider.get()

    copy = pickle.loads(pickle.dumps(provider))

    assert (copy.name, copy.policy.max_idle, copy.stats.created) == ("copied", LIMIT, 0)
    assert copy.get() == {}


def test_abandoned_instances_are_never_touched(
    provide, clock: ManualClock, maker: Maker, recorder: EventRecorder
) -> None:
    provider = provide(retirement=Retirement.ABANDON)
    use(provider)
    clock.advance(100)
    use(provider)

    provider.close()

    assert [connection.closed for connection in maker.made] == [0, 0]
    assert len(recorder.of_kind(EventKind.ABANDONED)) == 2


@pytest.mark.parametrize(
    ("setting", "value"),
    [("max_idle", timedelta(0)), ("jitter", 1.0), ("max_retire_threads", 0), ("grace_period", -LIMIT)],
)
def test_an_invalid_policy_is_refused(setting: str, value: object) -> None:
    with pytest.raises(ValueError, match=setting):
        replace(Policy(), **{setting: value})  # type: ignore[arg-type]
