"""The table of defaults: what upstream's own programs say, by version."""

from __future__ import annotations

import pytest

from leadsman import kafka_defaults
from leadsman.modes.producer_id_leak.broker_versions import VERSION_RANGES, expires_after

DAY = 86_400.0


@pytest.mark.parametrize(
    ("program", "setting", "version", "value"),
    [
        ("broker", "zookeeper.session.timeout.ms", "2.4.1", "6000"),
        ("broker", "zookeeper.session.timeout.ms", "2.8.2", "18000"),
        ("broker", "zookeeper.session.timeout.ms", "4.3.1", None),
        ("broker", "broker.session.timeout.ms", "2.7.2", None),
        ("consumer", "session.timeout.ms", "2.8.1", "10000"),
        ("consumer", "session.timeout.ms", "3.1.0", "45000"),
        ("consumer", "session.timeout.ms", "", "45000"),
        ("consumer", "default.api.timeout.ms", "2.0.0", "60000"),
        ("streams", "retries", "4.0.0", None),
        ("librdkafka", "socket.timeout.ms", "", "60000"),
        ("kafka-python producer", "connections_max_idle_ms", "", "540000"),
    ],
)
def test_a_default_is_that_of_its_version(program: str, setting: str, version: str, value: str | None) -> None:
    assert kafka_defaults.default(program, setting, version) == value


def test_a_setting_is_known_with_the_release_in_which_it_came() -> None:
    assert kafka_defaults.first_release("broker", "producer.id.expiration.ms") == "3.4"
    assert kafka_defaults.first_release("consumer", "default.api.timeout.ms") == ""
    assert not kafka_defaults.has_setting("consumer", "default.api.timeout")


def test_a_number_that_is_none_is_an_error_that_names_it() -> None:
    with pytest.raises(ValueError, match=r"broker 4\.3\.1 has no default of zookeeper\.session"):
        kafka_defaults.seconds("broker", "zookeeper.session.timeout.ms", "4.3.1")


@pytest.mark.parametrize(("version", "days"), [("2.3.1", 7), ("2.8.2", 7), ("3.4.0", 1), ("4.3.1", 1)])
def test_what_expires_producer_ids_is_known_of_every_era(version: str, days: int) -> None:
    assert expires_after(version) == days * DAY


def test_every_era_begins_no_sooner_than_its_setting() -> None:
    came = {each.setting: kafka_defaults.first_release("broker", each.setting) for each in VERSION_RANGES}

    assert [each for each in VERSION_RANGES if kafka_defaults.release_key(came[each.setting]) > each.since] == []


@pytest.mark.long
def test_the_file_is_what_the_programs_print() -> None:
    from leadsman.lab.defaults import read_defaults, render  # the lab is loaded only now

    assert render(read_defaults()) == kafka_defaults.FILE.read_text(encoding="utf-8")
