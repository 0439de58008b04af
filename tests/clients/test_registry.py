"""One producer for each distinct configuration, and a word to whoever keeps asking for another."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leadsman.clients import ClientsError, Kind, ProducerRegistry, ProviderClosed, TooManyProducers
from leadsman.clients.registry import Budgets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.clients.testing import HandClock, Heard

NOBODY = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}


@pytest.fixture
def registry(clock: HandClock, heard: Heard) -> Iterator[ProducerRegistry]:
    with ProducerRegistry(budgets=Budgets(producers=3, calls=5, replacements=2), on_event=heard, clock=clock) as made:
        yield made


@pytest.mark.parametrize(
    "same",
    [
        {"metadata.broker.list": "127.0.0.1:1", "log_level": 0, "acks": -1},
        {"log_level": "0", "acks": "-1", "bootstrap.servers": "127.0.0.1:1"},
        {**NOBODY, "request.required.acks": -1},
    ],
)
def test_the_same_configuration_gets_the_same_producers(registry: ProducerRegistry, same: dict[str, object]) -> None:
    first = registry.producers({**NOBODY, "acks": -1})

    second = registry.producers(same)

    assert second.producers is first.producers
    assert len(registry) == 1


@pytest.mark.parametrize("other", [{"acks": 0}, {"client.id": "b"}, {"sasl.password": "other"}])
def test_another_configuration_gets_others(registry: ProducerRegistry, other: dict[str, object]) -> None:
    first = registry.producers({**NOBODY, "sasl.password": "one"})

    second = registry.producers({**NOBODY, "sasl.password": "one", **other})

    assert second.producers is not first.producers


def test_who_closes_a_shared_producer_closes_it_for_nobody(registry: ProducerRegistry) -> None:
    with registry.producers(NOBODY) as shared:
        pass

    shared.close()

    assert "closed" not in repr(shared.producers.provider)


def test_many_distinct_configurations_are_refused_and_the_setting_is_named(registry: ProducerRegistry) -> None:
    deque(registry.producers({**NOBODY, "client.id": f"{n}", "sasl.password": "s3cret"}) for n in range(3))

    with pytest.raises(TooManyProducers, match=r"differ in: client\.id\. ") as refused:
        registry.producers({**NOBODY, "client.id": "3", "sasl.password": "s3cret"})

    assert "s3cret" not in str(refused.value)


def test_a_line_that_keeps_asking_is_named_once(registry: ProducerRegistry, heard: Heard) -> None:
    deque((registry.producers(NOBODY) for _ in range(50)), maxlen=0)

    (event,) = heard.of(Kind.MANY_CALLS)

    assert f"{__file__}:" in event.says


def test_a_line_that_asks_now_and_then_is_not_named(registry: ProducerRegistry, clock: HandClock, heard: Heard) -> None:
    def ask(_: int) -> None:
        registry.producers(NOBODY)
        clock.pass_by(30)

    deque(map(ask, range(50)), maxlen=0)

    assert heard.of(Kind.MANY_CALLS) == []


@pytest.mark.parametrize(("idempotent", "reports"), [(True, 1), (False, 0)])
def test_an_idempotent_producer_that_is_replaced_too_often_is_reported(
    registry: ProducerRegistry, heard: Heard, *, idempotent: bool, reports: int
) -> None:
    provider = registry.producers({**NOBODY, "enable.idempotence": idempotent}).producers.provider

    deque((provider.get() and provider.reset() for _ in range(5)), maxlen=0)

    assert [event.generation for event in heard.of(Kind.CHURN)] == [3] * reports
    assert len(heard.of(Kind.CREATED)) == 5


def test_a_transactional_producer_is_not_shared(registry: ProducerRegistry) -> None:
    with pytest.raises(ClientsError, match="cannot be shared"):
        registry.producers({**NOBODY, "transactional.id": "t"})


def test_threads_that_ask_at_once_get_the_same(registry: ProducerRegistry) -> None:
    with ThreadPoolExecutor(16) as pool:
        found = set(pool.map(lambda _: id(registry.producers(NOBODY).producers), range(64)))

    assert len(found) == 1


def test_a_closed_registry_gives_nothing(registry: ProducerRegistry) -> None:
    registry.producers(NOBODY)

    closed = registry.close(within=timedelta(seconds=1))

    assert closed is True
    with pytest.raises(ProviderClosed):
        registry.producers(NOBODY)


def test_a_child_process_can_ask(registry: ProducerRegistry) -> None:
    registry.producers(NOBODY)

    pid = os.fork()
    if pid == 0:
        os._exit(len(registry) if registry.producers(NOBODY) else 9)
    _, status = os.waitpid(pid, 0)

    assert os.waitstatus_to_exitcode(status) == 1
