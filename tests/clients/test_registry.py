"""One producer for each distinct configuration, and events for code that keeps requesting producers."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leadsman_clients import ClientsError, EventKind, ProducerRegistry, ProviderClosed, RegistryLimits, TooManyProducers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman_clients.testing import EventRecorder, ManualClock

UNREACHABLE = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}


@pytest.fixture
def registry(clock: ManualClock, recorder: EventRecorder) -> Iterator[ProducerRegistry]:
    with ProducerRegistry(
        limits=RegistryLimits(max_producers=3, max_calls=5, max_replacements=2), on_event=recorder, clock=clock
    ) as made:
        yield made


@pytest.mark.parametrize(
    "same",
    [
        {"metadata.broker.list": "127.0.0.1:1", "log_level": 0, "acks": -1},
        {"log_level": "0", "acks": "-1", "bootstrap.servers": "127.0.0.1:1"},
        {**UNREACHABLE, "request.required.acks": -1},
    ],
)
def test_the_same_configuration_gets_the_same_producers(registry: ProducerRegistry, same: dict[str, object]) -> None:
    first = registry.producers({**UNREACHABLE, "acks": -1})

    second = registry.producers(same)

    assert second.producers is first.producers
    assert len(registry) == 1


@pytest.mark.parametrize("other", [{"acks": 0}, {"client.id": "b"}, {"sasl.password": "other"}])
def test_another_configuration_gets_others(registry: ProducerRegistry, other: dict[str, object]) -> None:
    first = registry.producers({**UNREACHABLE, "sasl.password": "one"})

    second = registry.producers({**UNREACHABLE, "sasl.password": "one", **other})

    assert second.producers is not first.producers


def test_closing_a_shared_producer_closes_nothing(registry: ProducerRegistry) -> None:
    with registry.producers(UNREACHABLE) as shared:
        pass

    shared.close()

    assert "closed" not in repr(shared.producers.provider)


def test_many_distinct_configurations_are_refused_and_the_setting_is_named(registry: ProducerRegistry) -> None:
    deque(registry.producers({**UNREACHABLE, "client.id": f"{n}", "sasl.password": "s3cret"}) for n in range(3))

    with pytest.raises(TooManyProducers, match=r"differ in: client\.id\. ") as refused:
        registry.producers({**UNREACHABLE, "client.id": "3", "sasl.password": "s3cret"})

    assert "s3cret" not in str(refused.value)


def test_a_line_of_code_that_keeps_requesting_is_reported_once(
    registry: ProducerRegistry, recorder: EventRecorder
) -> None:
    deque((registry.producers(UNREACHABLE) for _ in range(50)), maxlen=0)

    (event,) = recorder.of_kind(EventKind.MANY_CALLS)

    assert f"{__file__}:" in event.message


def test_a_line_of_code_that_requests_now_and_then_is_not_reported(
    registry: ProducerRegistry, clock: ManualClock, recorder: EventRecorder
) -> None:
    def request(_: int) -> None:
        registry.producers(UNREACHABLE)
        clock.advance(30)

    deque(map(request, range(50)), maxlen=0)

    assert recorder.of_kind(EventKind.MANY_CALLS) == []


@pytest.mark.parametrize(("idempotent", "reports"), [(True, 1), (False, 0)])
def test_an_idempotent_producer_that_is_replaced_too_often_is_reported(
    registry: ProducerRegistry, recorder: EventRecorder, *, idempotent: bool, reports: int
) -> None:
    provider = registry.producers({**UNREACHABLE, "enable.idempotence": idempotent}).producers.provider

    deque((provider.get() and provider.reset() for _ in range(5)), maxlen=0)

    assert [event.generation for event in recorder.of_kind(EventKind.CHURN)] == [3] * reports
    assert len(recorder.of_kind(EventKind.CREATED)) == 5


def test_a_transactional_producer_is_not_shared(registry: ProducerRegistry) -> None:
    with pytest.raises(ClientsError, match="cannot be shared"):
        registry.producers({**UNREACHABLE, "transactional.id": "t"})


def test_concurrent_requests_get_the_same_producers(registry: ProducerRegistry) -> None:
    with ThreadPoolExecutor(16) as pool:
        distinct = set(pool.map(lambda _: id(registry.producers(UNREACHABLE).producers), range(64)))

    assert len(distinct) == 1


def test_a_closed_registry_refuses_requests(registry: ProducerRegistry) -> None:
    registry.producers(UNREACHABLE)

    closed = registry.close(timeout=timedelta(seconds=1))

    assert closed is True
    with pytest.raises(ProviderClosed):
        registry.producers(UNREACHABLE)


def test_a_child_process_can_request_producers(registry: ProducerRegistry) -> None:
    registry.producers(UNREACHABLE)

    pid = os.fork()
    if pid == 0:
        os._exit(len(registry) if registry.producers(UNREACHABLE) else 9)
    _, status = os.waitpid(pid, 0)

    assert os.waitstatus_to_exitcode(status) == 1
