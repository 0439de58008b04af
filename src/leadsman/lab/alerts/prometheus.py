"""A real Prometheus and Alertmanager on this machine, which scrape the exporters of an experiment."""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from urllib.request import urlopen

import yaml

from leadsman.errors import LabError
from leadsman.interrupt import defer_interrupts
from leadsman.lab.alerts.targets import scrape_configs
from leadsman.lab.processes.ports import ADDRESS, free_ports
from leadsman.lab.processes.program import HOST_NETWORK, Program
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leadsman.lab.alerts.targets import Target

READY_TIMEOUT = timedelta(seconds=30)
"""Both start in a second on an idle machine."""

INTERVAL = "1s"
"""Of scrapes and evaluations: 15 s at the lab's scale of 12 and more."""

RESPONSE_TIMEOUT_SECONDS = 10
STEP_SECONDS = 1
"""Of the times at which it is asked what fired: the interval of evaluations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitoring:
    """A running Prometheus with its Alertmanager, by their addresses."""

    prometheus: str
    alertmanager: str

    def query(self, path: str, **parameters: object) -> Any:  # noqa: ANN401 - JSON
        """Return the data of Prometheus's answer to an API request."""
        return _get(f"{self.prometheus}/api/v1/{path}?{urlencode(parameters)}")["data"]

    def firing(self, began: datetime, ended: datetime) -> dict[str, list[tuple[datetime, datetime]]]:
        """Return the spans in which each alert fired between two times, by its name."""
        data = self.query(
            "query_range",
            query='max by (alertname) (ALERTS{alertstate="firing"})',
            start=began.timestamp(),
            end=ended.timestamp(),
            step=STEP_SECONDS,
        )
        return {
            series["metric"]["alertname"]: _spans([_time(sample) for sample in series["values"]])
            for series in data["result"]
        }

    def firing_now(self) -> set[str]:
        """Return the names of the alerts that fire now."""
        return {each["labels"]["alertname"] for each in self.query("alerts")["alerts"] if each["state"] == "firing"}

    def notified(self) -> dict[str, str]:
        """Return what Alertmanager does with each alert: its receiver, or by which alert it is inhibited."""
        alerts = _get(f"{self.alertmanager}/api/v2/alerts")
        names = {each["fingerprint"]: each["labels"]["alertname"] for each in alerts}
        return {
            each["labels"]["alertname"]: f"inhibited by {names.get(by[0], by[0])}"
            if (by := each["status"]["inhibitedBy"])
            else each["receivers"][0]["name"]
            for each in alerts
        }


@contextmanager
def monitoring(
    folder: Path, *, targets: Sequence[Target], rules: Mapping[str, Any], alertmanager: Mapping[str, Any]
) -> Iterator[Monitoring]:
    """Start both in a folder, with these rule files by name; they run inside."""
    ports = free_ports(2)
    addresses = [f"{ADDRESS}:{port}" for port in ports]
    _write(folder, rules=rules, targets=targets, alertmanager_address=addresses[1])
    command = [
        "prometheus",
        "--config.file=prometheus.yml",
        "--storage.tsdb.path=data",
        f"--web.listen-address={addresses[0]}",
        "--log.level=warn",
    ]
    with start_program(folder, command), alertmanager_program(folder, addresses[1], alertmanager):
        _wait_until_ready(addresses[0])
        yield Monitoring(prometheus=f"http://{addresses[0]}", alertmanager=f"http://{addresses[1]}")


@contextmanager
def alertmanager_program(folder: Path, address: str, configuration: Mapping[str, Any]) -> Iterator[None]:
    """Start Alertmanager in a folder; it runs inside, and is ready."""
    (folder / "alertmanager.yml").write_text(yaml.safe_dump(configuration, sort_keys=False), encoding="utf-8")
    command = [
        "prometheus-alertmanager",
        "--config.file=alertmanager.yml",
        "--storage.path=alertmanager",
        f"--web.listen-address={address}",
        "--cluster.listen-address=",
        "--log.level=warn",
    ]
    with start_program(folder, command):
        _wait_until_ready(address)
        yield


def _wait_until_ready(address: str) -> None:
    ready = partial(answers, f"http://{address}/-/ready")
    wait_for(ready, timeout=READY_TIMEOUT, what=f"{address} to be ready", error=LabError)


def _write(
    folder: Path,
    *,
    rules: Mapping[str, Any],
    targets: Sequence[Target],
    alertmanager_address: str,
) -> None:
    configuration = {
        "global": {"scrape_interval": INTERVAL, "scrape_timeout": INTERVAL, "evaluation_interval": INTERVAL},
        "rule_files": sorted(rules),
        "scrape_configs": scrape_configs(targets),
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [alertmanager_address]}]}]},
    }
    documents = {**rules, "prometheus.yml": configuration}
    for name, document in documents.items():
        (folder / name).write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")


def start_program(
    folder: Path, command: Sequence[str], *, name: str = "", netns_entry: str = HOST_NETWORK.netns_entry
) -> Program:
    """Start one of Debian's monitoring programs, which logs into this folder; LabError if it is missing."""
    beside = str(Path(sys.executable).parent)
    path = shutil.which(command[0], path=beside) or shutil.which(command[0])
    if path is None:
        raise LabError(f"{command[0]} is not installed. Install it: make setup")
    log = folder / f"{name or command[0]}.log"
    with defer_interrupts():
        return Program.start(
            name or command[0], [path, *command[1:]], folder=folder, errors=log, output=log, netns_entry=netns_entry
        )


def answers(url: str) -> bool:
    """Whether a program answers there."""
    with suppress(OSError, HTTPException), urlopen(url, timeout=RESPONSE_TIMEOUT_SECONDS) as response:  # noqa: S310 - addresses of our own
        return bool(response.status == 200)  # noqa: PLR2004 - HTTP's OK
    return False


def _spans(times: Sequence[datetime]) -> list[tuple[datetime, datetime]]:
    """Return times that follow one another as spans."""
    spans: list[tuple[datetime, datetime]] = []
    for at in times:
        follows = spans and (at - spans[-1][1]).total_seconds() <= STEP_SECONDS
        spans = [*spans[:-1], (spans[-1][0], at)] if follows else [*spans, (at, at)]
    return spans


def _time(sample: Sequence[Any]) -> datetime:
    return datetime.fromtimestamp(float(sample[0]), UTC)


def _get(url: str) -> Any:  # noqa: ANN401 - JSON
    with urlopen(url, timeout=RESPONSE_TIMEOUT_SECONDS) as response:  # noqa: S310 - addresses of our own
        return json.load(response)
