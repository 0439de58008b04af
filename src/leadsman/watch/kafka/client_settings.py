"""The settings of librdkafka's clients, from a Java client's properties as Kafka's own tools take them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leadsman.collect.kafka.client_properties import python_client_settings, read_properties_file

if TYPE_CHECKING:
    from collections.abc import Mapping

OF_LIBRDKAFKA = {
    "security_protocol": "security.protocol",
    "sasl_mechanism": "sasl.mechanisms",
    "sasl_plain_username": "sasl.username",
    "sasl_plain_password": "sasl.password",
    "sasl_kerberos_service_name": "sasl.kerberos.service.name",
    "ssl_cafile": "ssl.ca.location",
    "ssl_certfile": "ssl.certificate.location",
    "ssl_keyfile": "ssl.key.location",
    "ssl_password": "ssl.key.password",
}
"""What librdkafka calls the settings of the other Python client."""

PREFETCHED_KILOBYTES = 32 << 10
"""Of each process that reads: two triggers of an average size on the way."""


def librdkafka_settings(java_properties: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return librdkafka's settings. Java key stores are converted to PEM files in `folder`, which must be private."""
    python_settings = python_client_settings(java_properties, folder)
    settings = {OF_LIBRDKAFKA[name]: str(value) for name, value in python_settings.items() if name in OF_LIBRDKAFKA}
    if python_settings.get("ssl_check_hostname") is False:
        settings["ssl.endpoint.identification.algorithm"] = "none"
    return settings


def write_settings(command_config: Path | None, folder: Path) -> str:
    """Write the settings to a file of their own that only its owner can read, and return its path.

    Processes that read get this path: what Spark hands to them is visible to others.
    """
    settings = librdkafka_settings(read_properties_file(command_config), folder) if command_config else {}
    path = folder / "librdkafka.json"
    path.touch(mode=0o600)
    path.write_text(json.dumps(settings), encoding="utf-8")
    return str(path)


def admin_settings(bootstrap: str, settings_file: str) -> dict[str, Any]:
    """Return the settings of the client that asks for topics and offsets."""
    return {
        **json.loads(Path(settings_file).read_text(encoding="utf-8")),
        "bootstrap.servers": bootstrap,
        "client.id": "leadsman",
        "log_level": 0,
        "error_cb": _ignore,
    }


def consumer_settings(bootstrap: str, settings_file: str) -> dict[str, Any]:
    """Return the settings of a consumer. It joins no group and commits nothing: Spark's checkpoint has the offsets."""
    return {
        **admin_settings(bootstrap, settings_file),
        "group.id": "leadsman-watch",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "error",
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 100,  # the end of a partition is reported so soon
        "fetch.queue.backoff.ms": 10,
        "queued.max.messages.kbytes": PREFETCHED_KILOBYTES,
    }


def _ignore(_error: object) -> None:
    """Do nothing with an error of the connection: librdkafka connects again, and requests report that they failed."""
