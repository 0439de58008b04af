"""When an instance is replaced, and what may never happen to one that somebody holds."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING

import pytest

from leadsman.clients import (
    Activity,
    ExpiringProvider,
    Kind,
    LeaseMisused,
    Policy,
    ProviderClosed,
    Reason,
    Retire,
)
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.clients.testing import HandClock, Heard

SOON = timedelta(seconds=20)
LIMIT = timedelta(seconds=100)
IMPATIENT = 0.05


@dataclass(eq=False)
class Connection:
    number: int
    closed: int = 0


@dataclass
class Maker:
    """Makes connections and closes them, and remembers."""

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
def provide(maker: Maker, clock: HandClock, heard: Heard) -> Callable[..., ExpiringProvider[Connection]]:
    def make(**policy: object) -> ExpiringProvider[Connection]:
        chosen = replace(Policy(max_idle=LIMIT, retire=Retire.INLINE), **policy)  # type: ignore[arg-type]
        return ExpiringProvider(maker.create, maker.retire, policy=chosen, on_event=heard, clock=clock)

    return make


def use(provider: ExpiringProvider[Connection]) -> int:
    with provider.lease() as connection:
        return connection.number


def test_everybody_gets_the_same_instance(provide) -> None:
    provider = provide()

    assert [use(provider), use(provider), provider.get().number] == [0, 0, 0]


def test_just_before_the_limit_an_instance_is_kept(provide, clock: HandClock) -> None:
    provider = provide()
    use(provider)

    clock.pass_by(99.9)

    assert use(provider) == 0


def test_exactly_at_the_limit_it_is_replaced_and_closed_once(provide, clock: HandClock, maker: Maker) -> None:
    provider = provide()
    use(provider)

    clock.pass_by(100)

    assert [use(provider), use(provider)] == [1, 1]
    assert [connection.closed for connection in maker.made] == [1, 0]


@pytest.mark.parametrize("moved", ["monotonic", "boot", "wall"])
def test_a_freeze_counts_whichever_clock_saw_it(provide, clock: HandClock, moved: str) -> None:
    provider = provide()
    use(provider)

    setattr(clock, moved, getattr(clock, moved) + 100)

    assert use(provider) == 1


def test_a_wall_clock_that_is_set_back_replaces_nothing_and_is_told(provide, clock: HandClock, heard: Heard) -> None:
    provider = provide()
    use(provider)

    clock.wall -= 3600
    use(provider)

    assert use(provider) == 0
    provider.reset()
    assert Kind.CLOCK_SET_BACK in heard.kinds()


def test_use_that_ends_well_starts_the_idle_time_anew(provide, clock: HandClock) -> None:
    provider = provide()
    use(provider)
    clock.pass_by(60)
    use(provider)

    clock.pass_by(60)

    assert use(provider) == 0


def test_use_that_fails_does_not(provide, clock: HandClock) -> None:
    provider = provide()
    use(provider)
    clock.pass_by(60)
    with pytest.raises(ValueError, match="no answer"), provider.lease():
        raise ValueError("no answer")

    clock.pass_by(60)

    assert use(provider) == 1


def test_what_answers_later_is_alive_only_when_it_says_so(provide, clock: HandClock) -> None:
    provider = provide(activity=Activity.REPORTED)
    use(provider)
    clock.pass_by(60)
    use(provider)
    clock.pass_by(60)
    replaced = use(provider)
    clock.pass_by(60)
    provider.touch()

    clock.pass_by(60)

    assert (replaced, use(provider)) == (1, 1)


def test_holding_a_lease_is_no_activity(provide, clock: HandClock) -> None:
    provider = provide()
    lease = provider.lease()

    clock.pass_by(100)

    assert use(provider) == 1
    lease.release()


def test_a_held_instance_is_closed_only_when_it_is_given_back(provide, clock: HandClock, maker: Maker) -> None:
    provider = provide()
    lease = provider.lease()
    clock.pass_by(100)
    use(provider)
    before = lease.value.closed

    lease.release()

    assert (before, maker.made[0].closed) == (0, 1)


def test_who_holds_an_instance_for_too_long_loses_it(provide, clock: HandClock, maker: Maker, heard: Heard) -> None:
    provider = provide(grace=timedelta(seconds=30))
    lease = provider.lease()
    clock.pass_by(100)
    use(provider)
    clock.pass_by(30)
    provider.reset()

    lease.release()

    assert maker.made[0].closed == 1
    assert [event.generation for event in heard.of(Kind.OVERSTAYED)] == [1]


def test_an_old_instance_is_replaced_however_busy(provide, clock: HandClock, heard: Heard) -> None:
    provider = provide(max_idle=None, max_age=LIMIT, uniform=lambda _, high: high, jitter=0.2)
    use(provider)
    clock.pass_by(79.9)
    before = use(provider)

    clock.pass_by(0.2)

    assert (before, use(provider)) == (0, 1)
    assert [event.reason for event in heard.of(Kind.EXPIRED)] == [Reason.AGE]


def test_a_failed_instance_is_replaced_and_late_news_of_it_harm_nobody(provide) -> None:
    provider = provide()
    lease = provider.lease()
    told = [lease.fail("fenced")]
    use(provider)

    told += [lease.fail("fenced, again"), provider.invalidate("late", generation=1)]

    assert told == [True, False, False]
    assert use(provider) == 1
    lease.release()


def test_a_fatal_error_in_the_block_replaces_the_instance(maker: Maker, clock: HandClock) -> None:
    provider = ExpiringProvider(
        maker.create, maker.retire, clock=clock, fatal=lambda error: isinstance(error, ConnectionError)
    )
    with pytest.raises(KeyError), provider.lease():
        raise KeyError
    after_another_error = use(provider)

    with pytest.raises(ConnectionResetError), provider.lease():
        raise ConnectionResetError

    assert (after_another_error, use(provider)) == (0, 1)


def test_an_instance_that_says_that_it_is_unusable_is_replaced(maker: Maker, clock: HandClock) -> None:
    clock.patience = IMPATIENT
    provider = ExpiringProvider(
        maker.create, maker.retire, clock=clock, usable=lambda connection: connection.number > 1
    )

    assert use(provider) == 2


def test_retiring_may_ask_the_provider_and_may_raise(maker: Maker, clock: HandClock, heard: Heard) -> None:
    asked: list[int] = []

    def retire(_: Connection, __: timedelta) -> None:
        asked.append(use(provider))
        raise OSError("already gone")

    provider = ExpiringProvider(
        maker.create, retire, clock=clock, on_event=heard, policy=Policy(max_idle=LIMIT, retire=Retire.INLINE)
    )
    use(provider)
    clock.pass_by(100)
    use(provider)

    wait_for(lambda: heard.of(Kind.CLOSED), within=SOON, what="the retirement")
    assert asked == [1]
    assert "already gone" in heard.of(Kind.CLOSED)[0].says


def test_retirements_that_hang_do_not_stop_later_ones(maker: Maker, clock: HandClock, heard: Heard) -> None:
    goes_on, closed, hanging = threading.Event(), [], []

    def retire(connection: Connection, _: timedelta) -> None:
        if connection.number < 2:
            hanging.append(connection)
            goes_on.wait(SOON.total_seconds())
        closed.append(connection.number)

    provider = ExpiringProvider(
        maker.create, retire, clock=clock, on_event=heard, policy=Policy(retire_slots=2, retire_within=LIMIT)
    )
    for _ in range(2):
        use(provider)
        provider.reset()
    wait_for(lambda: len(hanging) == 2, within=SOON, what="two retirements that hang")
    clock.pass_by(201)
    use(provider)
    provider.reset()

    wait_for(lambda: closed == [2], within=SOON, what="the third to be closed")
    assert [event.generation for event in heard.of(Kind.ABANDONED)] == [1, 2]
    goes_on.set()


def test_closing_closes_what_is_held_too_and_gives_out_nothing_any_more(provide, maker: Maker) -> None:
    provider = provide()
    lease = provider.lease()

    assert provider.close()

    lease.release()
    assert provider.close()
    assert maker.made[0].closed == 1
    with pytest.raises(ProviderClosed, match="closed"):
        provider.get()


def test_closing_while_creating_closes_what_comes(maker: Maker, clock: HandClock) -> None:
    creating, goes_on = threading.Event(), threading.Event()

    def create() -> Connection:
        creating.set()
        goes_on.wait(SOON.total_seconds())
        return maker.create()

    provider = ExpiringProvider(create, maker.retire, clock=clock)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(provider.get)
        creating.wait(SOON.total_seconds())
        provider.close()
        goes_on.set()

    wait_for(lambda: maker.made and maker.made[0].closed == 1, within=SOON, what="the late instance to be closed")


def test_a_lease_is_released_once(provide) -> None:
    lease = provide().lease()
    lease.release()

    with pytest.raises(LeaseMisused, match="before"):
        lease.release()
    with pytest.raises(LeaseMisused, match="released"):
        _ = lease.value


def test_a_lease_that_is_dropped_is_told_and_keeps_nothing_open(
    provide, clock: HandClock, maker: Maker, heard: Heard
) -> None:
    provider = provide()
    provider.lease()

    clock.pass_by(100)
    use(provider)

    assert maker.made[0].closed == 1
    assert Kind.LEAKED in heard.kinds()


def test_a_provider_that_is_dropped_closes_its_instance(maker: Maker) -> None:
    provider = ExpiringProvider(maker.create, maker.retire)
    use(provider)

    del provider

    wait_for(lambda: maker.made[0].closed, within=SOON, what="the instance to be closed")


def test_a_listener_that_fails_harms_nobody(maker: Maker) -> None:
    def listen(_: object) -> None:
        raise RuntimeError("deaf")

    provider = ExpiringProvider(maker.create, on_event=listen)

    assert use(provider) == 0


def test_a_pickled_provider_starts_empty() -> None:
    provider: ExpiringProvider[dict[str, str]] = ExpiringProvider(dict, policy=Policy(max_idle=LIMIT), name="copied")
    provider.get()

    copy = pickle.loads(pickle.dumps(provider))

    assert (copy.name, copy.policy.max_idle, copy.stats.created) == ("copied", LIMIT, 0)
    assert copy.get() == {}


def test_abandoned_instances_are_never_touched(provide, clock: HandClock, maker: Maker, heard: Heard) -> None:
    provider = provide(retire=Retire.ABANDON)
    use(provider)
    clock.pass_by(100)
    use(provider)

    provider.close()

    assert [connection.closed for connection in maker.made] == [0, 0]
    assert len(heard.of(Kind.ABANDONED)) == 2


@pytest.mark.parametrize(
    ("setting", "value"), [("max_idle", timedelta(0)), ("jitter", 1.0), ("retire_slots", 0), ("grace", -LIMIT)]
)
def test_a_policy_that_cannot_be_is_refused(setting: str, value: object) -> None:
    with pytest.raises(ValueError, match=setting):
        replace(Policy(), **{setting: value})  # type: ignore[arg-type]
