"""How every Kafka client of the application proves who it is: TLS, SCRAM, or IAM on Amazon MSK. From settings.

The workers' and the receiver's client is librdkafka, Spark's is Java: one meaning, two vocabularies.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from account_linking.errors import InvalidSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from account_linking.providers.model import Settings

PROTOCOL: Final = "KAFKA_SECURITY_PROTOCOL"
MECHANISM: Final = "KAFKA_SASL_MECHANISM"
USERNAME: Final = "KAFKA_SASL_USERNAME"
PASSWORD_FILE: Final = "KAFKA_SASL_PASSWORD_FILE"  # noqa: S105 - a setting's name
SECRET_ARN: Final = "KAFKA_SASL_SECRET_ARN"  # noqa: S105 - the same
CA_FILE: Final = "KAFKA_CA_FILE"
REGION: Final = "AWS_REGION"

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_SSL")
"""SASL without TLS is left out: SCRAM would be open to guessing, and an IAM token to reuse."""

SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
IAM = "AWS_MSK_IAM"
MECHANISMS = (*SCRAM, IAM)

SCRAM_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule"
IAM_LOGIN = "software.amazon.msk.auth.iam.IAMLoginModule"
IAM_HANDLER = "software.amazon.msk.auth.iam.IAMClientCallbackHandler"

HIDDEN_OPTIONS = "(?i)url|jaas|password|secret"
"""Options of Spark sources that Spark hides in plans and on its pages (`spark.sql.redaction.options.regex`): its own
default, and those that hold the password."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """A SCRAM user. The password is in no repr."""

    username: str
    password: str = field(repr=False)


def client_settings(settings: Settings) -> dict[str, Any]:
    """Return librdkafka's security settings. Reads credentials anew at each call, so that a rotation is noticed."""
    protocol, mechanism = _protocol(settings), _mechanism(settings)
    chosen: dict[str, Any] = {"security.protocol": protocol}
    if protocol == "PLAINTEXT":
        return chosen
    if path := settings.get(CA_FILE):
        chosen["ssl.ca.location"] = str(_existing(path))
    if mechanism in SCRAM:
        user = read_credentials(settings)
        chosen |= {"sasl.mechanism": mechanism, "sasl.username": user.username, "sasl.password": user.password}
    elif mechanism == IAM:
        chosen |= {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": iam_token(settings)}
    return chosen


def spark_options(settings: Settings) -> dict[str, str]:
    """Return the same as options of Spark's Kafka source and sink. The CA's certificates are in the option itself."""
    protocol, mechanism = _protocol(settings), _mechanism(settings)
    chosen = {"kafka.security.protocol": protocol}
    if protocol == "PLAINTEXT":
        return chosen
    if path := settings.get(CA_FILE):
        chosen |= {"kafka.ssl.truststore.type": "PEM", "kafka.ssl.truststore.certificates": _existing(path).read_text()}
    if mechanism in SCRAM:
        user = read_credentials(settings)
        login = f"{SCRAM_LOGIN} required username={_quoted(user.username)} password={_quoted(user.password)};"
        chosen |= {"kafka.sasl.mechanism": mechanism, "kafka.sasl.jaas.config": login}
    elif mechanism == IAM:
        chosen |= {
            "kafka.sasl.mechanism": IAM,
            "kafka.sasl.jaas.config": f"{IAM_LOGIN} required;",
            "kafka.sasl.client.callback.handler.class": IAM_HANDLER,
        }
    return chosen


def read_credentials(settings: Settings) -> Credentials:
    """Return the SCRAM user: from a secret of AWS Secrets Manager as MSK uses it, or a name and a password file."""
    if arn := settings.get(SECRET_ARN):
        return _secret(arn)
    username, path = settings.get(USERNAME, ""), settings.get(PASSWORD_FILE, "")
    if not username or not path:
        raise InvalidSettings(f"SCRAM needs {SECRET_ARN}, or both {USERNAME} and {PASSWORD_FILE}.")
    password = _existing(path).read_text(encoding="utf-8").rstrip("\r\n")
    if not password:
        raise InvalidSettings(f"{PASSWORD_FILE}: {path} is empty.")
    return Credentials(username, password)


def iam_token(settings: Settings) -> Callable[[str], tuple[str, float]]:
    """Return the callback that librdkafka calls for a token: the token, and when it expires (seconds since 1970)."""
    region = settings.get(REGION, "")
    if not region:
        raise InvalidSettings(f"{IAM} needs {REGION}. Lambda sets it; elsewhere set it to the cluster's region.")

    def token(_config: str) -> tuple[str, float]:
        from aws_msk_iam_sasl_signer import MSKAuthTokenProvider  # an extra

        signed, expires_ms = MSKAuthTokenProvider.generate_auth_token(region)
        return signed, expires_ms / 1000

    return token


def _protocol(settings: Settings) -> str:
    return _one_of(settings, PROTOCOL, PROTOCOLS, default="PLAINTEXT")


def _mechanism(settings: Settings) -> str:
    """Return the SASL mechanism; empty without SASL."""
    return _one_of(settings, MECHANISM, MECHANISMS, default="not set") if _protocol(settings) == "SASL_SSL" else ""


def _one_of(settings: Settings, name: str, allowed: tuple[str, ...], *, default: str) -> str:
    value = settings.get(name) or default
    if value not in allowed:
        raise InvalidSettings(f"{name} is {value!r}. It must be one of: {', '.join(allowed)}.")
    return value


def _existing(path: str) -> Path:
    if not Path(path).is_file():
        raise InvalidSettings(f"There is no file {path}. It is named by {CA_FILE} or {PASSWORD_FILE}.")
    return Path(path)


def _secret(arn: str) -> Credentials:
    """Read a secret with the keys `username` and `password`. Its text is quoted nowhere."""
    import boto3  # an extra

    text = boto3.client("secretsmanager").get_secret_value(SecretId=arn)["SecretString"]
    try:
        document: Mapping[str, str] = json.loads(text)
        return Credentials(str(document["username"]), str(document["password"]))
    except (ValueError, KeyError, TypeError):
        raise InvalidSettings(f"The secret {arn} is no JSON object with username and password.") from None


def _quoted(text: str) -> str:
    """Return a text as a quoted value of a JAAS configuration."""
    if any(ord(each) < ord(" ") for each in text):
        raise InvalidSettings("A Kafka user name or password contains a control character.")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
