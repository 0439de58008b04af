"""What is a secret and what only looks like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadsman.redaction import MASK, mask, mask_all, prefilter

SECRETS = [
    'sasl.jaas.config = org.apache.kafka.PlainLoginModule required username="u" password="hunter2";',
    "sasl_jaas_config: KafkaClient { ScramLoginModule required password=hunter2; };",
    "\tssl.key.password = hunter2",
    "ssl.keystore.password=hunter2",
    "'sasl_plain_password': 'hunter2'",
    '"sasl.password": "hunter2",',
    '{"log":"{\\"sasl.password\\": \\"hunter2\\"}"}',
    "SASL_PASSWORD=hunter2",
    "--client-secret=hunter2 --other=1",
    "basic.auth.user.info=user:hunter2",
    "aws_secret_access_key = hunter2",
    "Authorization: Bearer hunter2hunter2",
    "authorization: Basic dXNlcjpodW50ZXIyhunter2",
    "http get schema://user:hunter2@registry:8081/subjects",
    "jwt eyJhbGciOiJIUzI1NiJ9.hunter2.c2lnbmF0dXJl",
    "-----BEGIN RSA PRIVATE KEY-----\nhunter2\nhunter2\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nhunter2",
    "token: hunter2",
    "SharedAccessKeyName=x;SharedAccessKey=hunter2;EntityPath=y",
]

HARMLESS = [
    "\tssl.key.password = null",
    "\tsasl.jaas.config = null",
    "\tsasl.jaas.config = [hidden]",
    "\tssl.keystore.password = [hidden]",
    "\tkey.serializer = class org.apache.kafka.common.serialization.StringSerializer",
    "\tssl.keystore.location = /etc/kafka/keystore.jks",
    "\tsasl.oauthbearer.token.endpoint.url = null",
    "\tconnections.max.idle.ms = 540000",
    "The server disconnected before a response was received.",
    "PLAINTEXT://127.0.0.1:9092",
    "Password authentication failed for user",
    '\tpassword.encoder.secret = "none"',
]


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_is_blanked_and_its_key_stays(text: str) -> None:
    masked = mask(text)

    assert "hunter2" not in masked
    assert MASK in masked


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays_to_the_letter(text: str) -> None:
    assert mask(text) == text


def test_only_the_secret_is_blanked() -> None:
    line = '[2026-11-21 09:01:25,164] INFO {"sasl.password": "hunter2", "acks": 1} (x.Y)'

    assert mask(line) == f'[2026-11-21 09:01:25,164] INFO {{"sasl.password": "{MASK}", "acks": 1}} (x.Y)'


@pytest.mark.parametrize("text", SECRETS)
def test_masking_twice_changes_nothing(text: str) -> None:
    once = mask(text)

    assert mask(once) == once


@pytest.mark.parametrize("text", SECRETS)
def test_masking_keeps_the_number_of_lines(text: str) -> None:
    assert mask(text).count("\n") == text.count("\n")


@pytest.mark.parametrize("worth", [0, 1 << 40], ids=["with Hyperscan", "without"])
@given(texts=st.lists(st.sampled_from([*SECRETS, *HARMLESS, "", "\u0130 password=hunter2", "two\nlines"])))
def test_many_at_once_are_masked_as_one_by_one(worth: int, texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefilter, "HYPERSCAN_MIN_CHARACTERS", worth)

        assert mask_all(texts) == [mask(text) for text in texts]


@given(st.text())
def test_any_text_keeps_its_number_of_lines(text: str) -> None:
    assert mask(text).count("\n") == text.count("\n")


@pytest.mark.parametrize("space", ["", " ", "\t", "\u00a0", "\u2003", " " * 500])
def test_a_column_s_secret_is_masked_whatever_space_stands_before_its_name(space: str) -> None:
    assert "hunter2x" not in mask(f"|{space}password | hunter2x |")
