"""The provider for asyncio: the same rules as for threads."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leadsman_clients import AsyncExpiringProvider, CreationFailed, CreationTimedOut, Policy, ProviderClosed, Retirement

if TYPE_CHECKING:
    from leadsman_clients.testing import EventRecorder, ManualClock

LIMIT = timedelta(seconds=100)


class Connections:
    """Makes numbered connections, and remembers which were closed."""

    def __init__(self) -> None:
        self.made = 0
        self.closed: list[int] = []

    async def create(self) -> int:
        self.made += 1
        await asyncio.sleep(0)
        return self.made

    async def retire(self, number: int, _: timedelta) -> None:
        self.closed.append(number)


async def use(provider: AsyncExpiringProvider[int]) -> int:
    async with provider.lease() as number:
        return number


def test_fifty_tasks_at_once_make_one_instance() -> None:
    made = Connections()

    async def main() -> set[int]:
        provider = AsyncExpiringProvider(made.create)
        return set(await asyncio.gather(*(use(provider) for _ in range(50))))

    assert asyncio.run(main()) == {1}


def test_an_idle_instance_is_replaced_and_closed_after_its_last_lease(clock: ManualClock) -> None:
    made = Connections()

    async def main() -> list[object]:
        policy = Policy(max_idle=LIMIT, retirement=Retirement.INLINE)
        provider = AsyncExpiringProvider(made.create, made.retire, policy=policy, clock=clock)
        async with provider.lease() as first:
            clock.boot += 100
            second = await use(provider)
            closed_while_leased = list(made.closed)
        return [first, second, closed_while_leased, made.closed]

    assert asyncio.run(main()) == [1, 2, [], [1]]


def test_a_fatal_error_in_the_block_replaces_the_instance() -> None:
    made = Connections()

    async def main() -> int:
        provider = AsyncExpiringProvider(made.create, fatal=lambda error: isinstance(error, ConnectionError))
        with pytest.raises(ConnectionResetError):
            async with provider.lease():
                raise ConnectionResetError
        return await use(provider)

    assert asyncio.run(main()) == 2


def test_a_waiter_that_is_cancelled_does_not_cancel_the_creation() -> None:
    made = Connections()

    async def main() -> int:
        provider = AsyncExpiringProvider(made.create)
        first = asyncio.ensure_future(use(provider))
        second = asyncio.ensure_future(use(provider))
        await asyncio.sleep(0)
        first.cancel()
        return await second

    assert asyncio.run(main()) == 1


def test_all_waiters_of_a_failed_creation_get_the_same_cause(recorder: EventRecorder) -> None:
    cause = OSError("no route")

    async def create() -> int:
        raise cause

    async def main() -> list[object]:
        provider = AsyncExpiringProvider(create, on_event=recorder)
        return await asyncio.gather(*(use(provider) for _ in range(3)), return_exceptions=True)

    errors = asyncio.run(main())

    assert {type(error) for error in errors} == {CreationFailed}
    assert {error.__cause__ for error in errors if isinstance(error, Exception)} == {cause}
    assert recorder.kinds() == ["create_failed"]


def test_a_creation_that_hangs_delays_no_caller_beyond_its_timeout() -> None:
    async def create() -> int:
        await asyncio.Event().wait()
        return 1

    async def main() -> None:
        provider = AsyncExpiringProvider(create)
        async with provider.lease(timeout=timedelta(seconds=0.05)):
            pass

    with pytest.raises(CreationTimedOut):
        asyncio.run(main())


def test_a_closed_provider_leases_nothing() -> None:
    made = Connections()

    async def main() -> None:
        async with AsyncExpiringProvider(made.create, made.retire) as provider:
            await use(provider)
        await use(provider)

    with pytest.raises(ProviderClosed):
        asyncio.run(main())
    assert made.closed == [1]
