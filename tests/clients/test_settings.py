"""What a path asks of a client's settings, and what is refused."""

from __future__ import annotations

from datetime import timedelta

import pytest

from leadsman.clients import HOPS, ContradictsPath, Hop, MissingLibrary, kafka_producer_provider
from leadsman.clients.hops import path
from leadsman.clients.settings import AIOKAFKA, CONFLUENT, DIALECTS, KAFKA_PYTHON, fit

SERVERS = {"bootstrap.servers": "127.0.0.1:1"}


@pytest.mark.parametrize(
    ("hops", "milliseconds"),
    [("broker", 270_000), (["lambda", "aws_nat"], 157_500), (["azure_lb", "aws_nat"], 108_000)],
)
@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_the_client_closes_before_the_shortest_hop_does(dialect, hops, milliseconds: int) -> None:
    fitted = fit({}, dialect, path=path(hops))

    assert fitted.settings[dialect.idle] == milliseconds


@pytest.mark.parametrize(
    ("dialect", "value"),
    [(CONFLUENT, 0), (CONFLUENT, "600000"), (CONFLUENT, 350_000), (KAFKA_PYTHON, None), (AIOKAFKA, 540_000)],
)
def test_an_idle_limit_above_a_hop_is_refused(dialect, value: object) -> None:
    with pytest.raises(ContradictsPath, match="aws_nat drops connections after 350 s"):
        fit({dialect.idle: value}, dialect, path=path("aws_nat"))


def test_an_idle_limit_close_to_a_hop_is_noted() -> None:
    fitted = fit({"connections.max.idle.ms": 300_000}, CONFLUENT, path=path("aws_nat"))

    assert "close to the 350 s of aws_nat" in fitted.notes[0]


def test_what_the_user_chose_stays() -> None:
    chosen = {"connections.max.idle.ms": 60_000, "socket.timeout.ms": 3000, "delivery.timeout.ms": 9000}

    fitted = fit(chosen, CONFLUENT, path=path("lambda"), within=timedelta(seconds=10))

    assert fitted.settings == chosen
    assert fitted.delivery == timedelta(seconds=9)


def test_a_record_is_given_up_before_its_caller_is() -> None:
    fitted = fit({}, CONFLUENT, path=path("lambda"), within=timedelta(seconds=10))

    assert (fitted.settings["message.timeout.ms"], fitted.settings["socket.timeout.ms"]) == (9000, 3000)


def test_a_record_that_may_outlive_its_caller_is_refused() -> None:
    with pytest.raises(ContradictsPath, match="the caller has only 10 s"):
        fit({"message.timeout.ms": 300_000}, CONFLUENT, path=path("lambda"), within=timedelta(seconds=10))


def test_what_loses_records_on_any_path_is_noted() -> None:
    fitted = fit({"acks": 0, "retries": 0}, CONFLUENT, path=path("broker"))

    assert [note[:6] for note in fitted.notes] == ["acks=0", "retrie"]


def test_the_users_settings_are_not_changed() -> None:
    mine = dict(SERVERS)

    fit(mine, CONFLUENT, path=path("lambda"), within=timedelta(seconds=10))

    assert mine == SERVERS


def test_a_hop_of_ones_own_counts() -> None:
    assert path(["aws_nat", Hop("mesh", timedelta(seconds=60))]).limit == timedelta(seconds=60)


def test_the_brokers_own_limit_can_be_told() -> None:
    assert path(Hop("broker", timedelta(seconds=30))).hops == (Hop("broker", timedelta(seconds=30)),)


def test_an_unknown_hop_lists_the_known_ones() -> None:
    with pytest.raises(ContradictsPath, match="aws_nat"):
        path("aws_gnat")


def test_hops_are_known_by_their_own_names() -> None:
    assert all(hop.name == name for name, hop in HOPS.items())


def test_a_contradiction_is_refused_when_the_provider_is_made() -> None:
    with pytest.raises(ContradictsPath, match="broker drops connections after 600 s"):
        kafka_producer_provider({**SERVERS, "connections.max.idle.ms": 0})


def test_an_unknown_client_lists_the_known_ones() -> None:
    with pytest.raises(MissingLibrary, match="confluent-kafka"):
        kafka_producer_provider(SERVERS, client="sarama")  # type: ignore[call-overload]
