"""A Java client's properties mean the same to the Python client."""

from __future__ import annotations

from pathlib import Path

import pytest

from leadsman.collect.kafka.client_properties import (
    parse_properties,
    python_client_settings,
    read_properties_file,
)
from leadsman.errors import UsageError

SASL = (
    "security.protocol=SASL_SSL\nsasl.mechanism = SCRAM-SHA-512\n# a remark\n"
    "sasl.jaas.config:org.apache.kafka.common.security.scram.ScramLoginModule required \\\n"
    '    username="reader" password="a\\\\"b";\n'
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a: b=c", {"a": "b=c"}),
        ("a b", {"a": "b"}),
        ("! no\n#no\n\n a = b ", {"a": "b "}),
        ("a=one,\\\n   two", {"a": "one,two"}),
        ("a=C:\\\\keys\\u0041", {"a": "C:\\keysA"}),
    ],
)
def test_a_file_is_read_as_java_reads_it(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


def test_a_login_is_found_in_its_module(tmp_path: Path) -> None:
    settings = python_client_settings(parse_properties(SASL), tmp_path)

    assert settings["security_protocol"] == "SASL_SSL"
    assert (settings["sasl_mechanism"], settings["sasl_plain_username"]) == ("SCRAM-SHA-512", "reader")
    assert settings["sasl_plain_password"] == 'a"b'


def test_a_mechanism_that_python_has_not_leads_to_the_plain_commands(tmp_path: Path) -> None:
    text = "security.protocol=SASL_SSL\nsasl.mechanism=AWS_MSK_IAM\n"

    with pytest.raises(UsageError, match="--print-commands"):
        python_client_settings(parse_properties(text), tmp_path)


def test_a_login_without_password_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="username and password"):
        python_client_settings({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}, tmp_path)


def test_pem_is_taken_as_it_is(tmp_path: Path) -> None:
    store = tmp_path / "ca.pem"
    store.write_text("-----BEGIN CERTIFICATE-----\n")

    settings = python_client_settings({"security.protocol": "SSL", "ssl.truststore.location": str(store)}, tmp_path)

    assert settings["ssl_cafile"] == str(store)


def test_a_store_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"ssl\.truststore\.location"):
        python_client_settings(
            {"security.protocol": "SSL", "ssl.truststore.location": str(tmp_path / "no.jks")}, tmp_path
        )


def test_a_store_that_is_none_is_reported_without_its_password(tmp_path: Path) -> None:
    store = tmp_path / "broken.p12"
    store.write_bytes(b"\x30\x82 not a store")
    given = {"ssl.truststore.location": str(store), "ssl.truststore.password": "hunter2"}

    with pytest.raises(UsageError, match="could not read the key store") as raised:
        python_client_settings(given, tmp_path)

    assert "hunter2" not in str(raised.value)


def test_a_file_without_an_end_is_no_file_of_properties() -> None:
    with pytest.raises(UsageError, match="larger than 1 MiB"):
        read_properties_file(Path("/dev/zero"))


@pytest.mark.parametrize("value", ["a", "-1", "0", "1.5", "\u0661", "9" * 5000])
def test_a_timeout_that_is_no_number_of_milliseconds_is_named(tmp_path: Path, value: str) -> None:
    with pytest.raises(UsageError, match=r"request\.timeout\.ms"):
        python_client_settings({"request.timeout.ms": value}, tmp_path)
