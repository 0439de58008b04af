"""A Java client's properties mean the same to the Python client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leadsman.collect.kafka.client_properties import properties, settings
from leadsman.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

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
    assert properties(text) == expected


def test_a_login_is_found_in_its_module(tmp_path: Path) -> None:
    told = settings(properties(SASL), tmp_path)

    assert told["security_protocol"] == "SASL_SSL"
    assert (told["sasl_mechanism"], told["sasl_plain_username"]) == ("SCRAM-SHA-512", "reader")
    assert told["sasl_plain_password"] == 'a"b'


def test_a_mechanism_that_python_has_not_leads_to_the_plain_commands(tmp_path: Path) -> None:
    text = "security.protocol=SASL_SSL\nsasl.mechanism=AWS_MSK_IAM\n"

    with pytest.raises(UsageError, match="--print-commands"):
        settings(properties(text), tmp_path)


def test_a_login_without_password_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="username and password"):
        settings({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}, tmp_path)


def test_pem_is_taken_as_it_is(tmp_path: Path) -> None:
    store = tmp_path / "ca.pem"
    store.write_text("-----BEGIN CERTIFICATE-----\n")

    told = settings({"security.protocol": "SSL", "ssl.truststore.location": str(store)}, tmp_path)

    assert told["ssl_cafile"] == str(store)


def test_a_store_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"ssl\.truststore\.location"):
        settings({"security.protocol": "SSL", "ssl.truststore.location": str(tmp_path / "no.jks")}, tmp_path)


def test_a_store_that_is_none_is_said_without_its_password(tmp_path: Path) -> None:
    store = tmp_path / "broken.p12"
    store.write_bytes(b"\x30\x82 not a store")
    given = {"ssl.truststore.location": str(store), "ssl.truststore.password": "hunter2"}

    with pytest.raises(UsageError, match="could not read the key store") as raised:
        settings(given, tmp_path)

    assert "hunter2" not in str(raised.value)
