"""The settings that a network path needs, and those that are refused."""

from __future__ import annotations

from datetime import timedelta

import pytest

from leadsman_clients import HOPS, Hop, InvalidConfiguration, MissingLibrary, kafka_producer_provider
from leadsman_clients.network_path import resolve_path
from leadsman_clients.producer.settings import AIOKAFKA, CONFLUENT, KAFKA_PYTHON, SETTING_NAMES, adjust_settings

SERVERS = {"bootstrap.servers": "127.0.0.1:1"}


@pytest.mark.parametrize(
    ("hops", "milliseconds"),
    [("broker", 270_000), (["lambda", "aws_nat"], 157_500), (["azure_lb", "aws_nat"], 108_000)],
)
@pytest.mark.parametrize("names", SETTING_NAMES.values(), ids=SETTING_NAMES)
def test_the_client_closes_before_the_shortest_hop_does(names, hops, milliseconds: int) -> None:
    adjusted = adjust_settings({}, names, path=resolve_path(hops))

    assert adjusted.settings[names.idle_limit] == milliseconds


@pytest.mark.parametrize(
    ("names", "value"),
    [(CONFLUENT, 0), (CONFLUENT, "600000"), (CONFLUENT, 350_000), (KAFKA_PYTHON, None), (AIOKAFKA, 540_000)],
)
def test_an_idle_limit_above_a_hop_is_refused(names, value: object) -> None:
    with pytest.raises(InvalidConfiguration, match="aws_nat drops connections that are idle for 350 s"):
        adjust_settings({names.idle_limit: value}, names, path=resolve_path("aws_nat"))


def test_an_idle_limit_close_to_a_hop_is_a_warning() -> None:
    adjusted = adjust_settings({"connections.max.idle.ms": 300_000}, CONFLUENT, path=resolve_path("aws_nat"))

    assert "close to the 350 s of aws_nat" in adjusted.warnings[0]


def test_the_users_settings_are_kept() -> None:
    settings = {"connections.max.idle.ms": 60_000, "socket.timeout.ms": 3000, "delivery.timeout.ms": 9000}

    adjusted = adjust_settings(settings, CONFLUENT, path=resolve_path("lambda"), timeout=timedelta(seconds=10))

    assert adjusted.settings == settings
    assert adjusted.delivery_timeout == timedelta(seconds=9)


def test_a_record_times_out_before_its_caller() -> None:
    adjusted = adjust_settings({}, CONFLUENT, path=resolve_path("lambda"), timeout=timedelta(seconds=10))

    assert (adjusted.settings["message.timeout.ms"], adjusted.settings["socket.timeout.ms"]) == (9000, 3000)


def test_a_record_that_may_outlive_its_caller_is_refused() -> None:
    with pytest.raises(InvalidConfiguration, match="the caller has only 10 s"):
        adjust_settings(
            {"message.timeout.ms": 300_000}, CONFLUENT, path=resolve_path("lambda"), timeout=timedelta(seconds=10)
        )


def test_settings_that_lose_records_on_any_path_are_warnings() -> None:
    adjusted = adjust_settings({"acks": 0, "retries": 0}, CONFLUENT, path=resolve_path("broker"))

    assert [warning[:6] for warning in adjusted.warnings] == ["acks=0", "retrie"]


def test_the_users_settings_are_not_changed() -> None:
    settings = dict(SERVERS)

    adjust_settings(settings, CONFLUENT, path=resolve_path("lambda"), timeout=timedelta(seconds=10))

    assert settings == SERVERS


def test_a_custom_hop_counts() -> None:
    assert resolve_path(["aws_nat", Hop("mesh", timedelta(seconds=60))]).idle_timeout == timedelta(seconds=60)


def test_the_idle_timeout_of_the_broker_can_be_given() -> None:
    assert resolve_path(Hop("broker", timedelta(seconds=30))).hops == (Hop("broker", timedelta(seconds=30)),)


def test_an_unknown_hop_lists_the_known_ones() -> None:
    with pytest.raises(InvalidConfiguration, match="aws_nat"):
        resolve_path("aws_gnat")


def test_hops_are_known_by_their_own_names() -> None:
    assert all(hop.name == name for name, hop in HOPS.items())


def test_a_dangerous_setting_is_refused_when_the_provider_is_made() -> None:
    with pytest.raises(InvalidConfiguration, match="broker drops connections that are idle for 600 s"):
        kafka_producer_provider({**SERVERS, "connections.max.idle.ms": 0})


def test_an_unknown_client_lists_the_known_ones() -> None:
    with pytest.raises(MissingLibrary, match="confluent-kafka"):
        kafka_producer_provider(SERVERS, client="sarama")  # type: ignore[call-overload]


def test_every_public_name_is_where_the_package_lists_it() -> None:
    import leadsman_clients

    listed = {name for names in leadsman_clients._MODULES.values() for name in names}

    assert listed == set(leadsman_clients.__all__)
    assert all(getattr(leadsman_clients, name) is not None for name in listed)
