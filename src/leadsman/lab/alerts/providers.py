"""A client of the lab whose producers are providers of leadsman_clients, with their metrics."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from leadsman.lab.programs.survival_service import METRICS_PORT, SurvivalOptions
from leadsman.lab.survival.environment import LIMIT_SECONDS
from leadsman.lab.workload.clients import Client, Translation, client, python_command

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PLAIN = "confluent-kafka"


def provider_client() -> Client:
    """Return confluent-kafka behind a provider whose path is a broker with the experiment's idle limit."""
    plain = client(PLAIN)

    def translate(settings: Mapping[str, str]) -> Translation:
        translated, unsupported = plain.translate(settings)
        options = SurvivalOptions(client=PLAIN, wrapped=True, settings=translated, hop_seconds=LIMIT_SECONDS)
        return asdict(options), unsupported

    return Client(
        name="leadsman_clients",
        version=plain.version,
        library=PLAIN,
        translate=translate,
        command=python_command("survival_service"),
        monitored=_environment,
    )


def _environment(_: Path, port: int) -> Mapping[str, str]:
    return {METRICS_PORT: str(port)}
