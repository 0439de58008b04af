"""Inventories of clouds: which instance has which address and MAC, since when.

`aws ec2 describe-network-interfaces`, `aws ec2 describe-instances`, `gcloud compute instances list --format=json`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from leadsman import vocabulary as v
from leadsman.telemetry.addresses import address, mac
from leadsman.telemetry.outputs.json_value_lines import ValueLines, read_document
from leadsman.telemetry.outputs.parser import MAX_WARNING_LINES, EventColumns, OutputParser
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.outputs.parser import OutputContext

AWS = re.compile(rb'[\xef\xbb\xbf\s]*\{\s*"(?:NetworkInterfaces|Reservations)"\s*:')
GCP = re.compile(rb"[\xef\xbb\xbf\s]*\[\s*\{")
GCP_WORDS = (b'"compute#instance"', b'"networkInterfaces"')
ENDED = re.compile(r"\((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) GMT\)")
LABELS = ("address", "mac", "launched", "ended", "instance", "name")


@dataclass(slots=True)
class Instances:
    """The addresses of an inventory, with the lines on which they stand."""

    value_lines: ValueLines
    rows: list[dict[str, str | None]] = field(default_factory=list)
    quotes: list[tuple[int, str]] = field(default_factory=list)

    def add(self, quoted_value: str, **labels: str | None) -> None:
        """Add one address; the line of `quoted_value` is quoted."""
        self.quotes.append(self.value_lines.find(quoted_value))
        self.rows.append(labels)

    def events(self) -> Iterator[EventColumns]:
        """Return the addresses as events."""
        if self.rows:
            lines, texts = zip(*self.quotes, strict=True)
            columns = {name: [row.get(name) for row in self.rows] for name in LABELS}
            yield EventColumns(name=v.INSTANCE_SEEN, lines=lines, texts=texts, labels=columns)


def matches_head(head: bytes) -> bool:
    """Whether a document begins as one of these inventories."""
    return bool(AWS.match(head)) or (bool(GCP.match(head)) and all(word in head for word in GCP_WORDS))


def parse(blocks: Iterable[bytes], _context: OutputContext) -> Iterator[EventColumns]:
    """Parse the inventory of any of these clouds."""
    text = read_document(blocks)
    try:
        document = json.loads(text)
    except ValueError as error:
        raise OSError(f"the inventory breaks off: {error}") from error
    instances = Instances(ValueLines(text))
    if isinstance(document, list):
        for instance in document:
            _gcp(instance, instances)
    else:
        _aws(document, instances)
    yield from instances.events()


def _aws(document: dict[str, Any], instances: Instances) -> None:
    for interface in document.get("NetworkInterfaces") or []:
        _interface(interface, instances)
    for reservation in document.get("Reservations") or []:
        for instance in reservation.get("Instances") or []:
            _instance(instance, instances)


def _interface(
    interface: dict[str, Any], instances: Instances, launched: str | None = None, **overrides: str | None
) -> None:
    """Read a network interface of AWS with all its addresses."""
    attachment = interface.get("Attachment") or {}
    labels = {
        "mac": mac(interface.get("MacAddress")),
        "launched": _iso(launched or attachment.get("AttachTime")),
        "instance": attachment.get("InstanceId") or interface.get("NetworkInterfaceId"),
        "name": _tag(interface.get("TagSet") or []),
    } | {key: value for key, value in overrides.items() if value}
    private = [each.get("PrivateIpAddress") for each in interface.get("PrivateIpAddresses") or []]
    own = private or [interface.get("PrivateIpAddress")]
    addresses = [*own, *(each.get("Ipv6Address") for each in interface.get("Ipv6Addresses") or [])]
    for each in dict.fromkeys(each for each in addresses if each):
        instances.add(interface.get("MacAddress") or each, address=address(each), **labels)


def _instance(instance: dict[str, Any], instances: Instances) -> None:
    """Read an instance of AWS. A terminated one is listed for an hour, without interfaces."""
    labels = {"instance": instance.get("InstanceId"), "name": _tag(instance.get("Tags") or [])}
    ended = ENDED.search(str(instance.get("StateTransitionReason") or ""))
    state = (instance.get("State") or {}).get("Name")
    if state in {"terminated", "stopped"} and ended:
        labels["ended"] = _iso(ended[1] + "+00:00")
    for interface in instance.get("NetworkInterfaces") or []:
        _interface(interface, instances, launched=instance.get("LaunchTime"), **labels)
    if not instance.get("NetworkInterfaces") and instance.get("PrivateIpAddress"):
        own = instance["PrivateIpAddress"]
        instances.add(own, address=address(own), launched=_iso(instance.get("LaunchTime")), **labels)


def _gcp(instance: dict[str, Any], instances: Instances) -> None:
    """Read an instance of Google's cloud, which names no MAC."""
    launched = instance.get("lastStartTimestamp") or instance.get("creationTimestamp")
    ended = instance.get("lastStopTimestamp") if instance.get("status") in {"TERMINATED", "STOPPED"} else None
    labels = {
        "launched": _iso(launched),
        "ended": _iso(ended),
        "instance": instance.get("id"),
        "name": instance.get("name"),
    }
    for interface in instance.get("networkInterfaces") or []:
        for each in (interface.get("networkIP"), interface.get("ipv6Address")):
            if each:
                instances.add(each, address=address(each), **labels)


def _tag(tags: list[dict[str, str]]) -> str | None:
    return next((tag.get("Value") for tag in tags if tag.get("Key") == "Name"), None)


def _iso(text: str | None) -> str | None:
    """Return a time in UTC; None where there is none, or it is not in ISO format."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC).isoformat(timespec="milliseconds")
    except ValueError:
        return None


SOURCE = Source(
    "inventories",
    "Inventory of instances",
    "state",
    parser=OutputParser(
        matches=matches_head, parse=parse, event_names=frozenset({v.INSTANCE_SEEN}), warning_lines=MAX_WARNING_LINES
    ),
)
