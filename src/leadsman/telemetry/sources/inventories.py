"""Inventories of clouds: who has which address, with which MAC, since when.

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
from leadsman.telemetry.places import Places, whole
from leadsman.telemetry.reading import A_FEW_REMARKS, Facts, Reading
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.reading import About

AWS = re.compile(rb'[\xef\xbb\xbf\s]*\{\s*"(?:NetworkInterfaces|Reservations)"\s*:')
GCP = re.compile(rb"[\xef\xbb\xbf\s]*\[\s*\{")
GCP_WORDS = (b'"compute#instance"', b'"networkInterfaces"')
ENDED = re.compile(r"\((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) GMT\)")
LABELS = ("address", "mac", "launched", "ended", "instance", "name")


@dataclass(slots=True)
class Instances:
    """What an inventory tells, with the lines that it stands on."""

    sought: Places
    rows: list[dict[str, str | None]] = field(default_factory=list)
    places: list[tuple[int, str]] = field(default_factory=list)

    def add(self, sought: str, **labels: str | None) -> None:
        """Take in one address; `sought` is the value whose line is quoted."""
        self.places.append(self.sought.of(sought))
        self.rows.append(labels)

    def facts(self) -> Iterator[Facts]:
        """Return all of it as columns."""
        if self.rows:
            lines, texts = zip(*self.places, strict=True)
            columns = {name: [row.get(name) for row in self.rows] for name in LABELS}
            yield Facts(name=v.INSTANCE_SEEN, lines=lines, texts=texts, labels=columns)


def tells(head: bytes) -> bool:
    """Whether a document begins as one of these inventories."""
    return bool(AWS.match(head)) or (bool(GCP.match(head)) and all(word in head for word in GCP_WORDS))


def facts(blocks: Iterable[bytes], _about: About) -> Iterator[Facts]:
    """Read whichever inventory it is."""
    text = whole(blocks)
    try:
        told = json.loads(text)
    except ValueError as error:
        raise OSError(f"the inventory breaks off: {error}") from error
    found = Instances(Places(text))
    if isinstance(told, list):
        for instance in told:
            _gcp(instance, found)
    else:
        _aws(told, found)
    yield from found.facts()


def _aws(told: dict[str, Any], found: Instances) -> None:
    for interface in told.get("NetworkInterfaces") or []:
        _interface(interface, found)
    for reservation in told.get("Reservations") or []:
        for instance in reservation.get("Instances") or []:
            _instance(instance, found)


def _interface(told: dict[str, Any], found: Instances, launched: str | None = None, **known: str | None) -> None:
    """Read a network interface of AWS with all its addresses."""
    attachment = told.get("Attachment") or {}
    labels = {
        "mac": mac(told.get("MacAddress")),
        "launched": _iso(launched or attachment.get("AttachTime")),
        "instance": attachment.get("InstanceId") or told.get("NetworkInterfaceId"),
        "name": _tag(told.get("TagSet") or []),
    } | {key: value for key, value in known.items() if value}
    private = [each.get("PrivateIpAddress") for each in told.get("PrivateIpAddresses") or []]
    own = private or [told.get("PrivateIpAddress")]
    addresses = [*own, *(each.get("Ipv6Address") for each in told.get("Ipv6Addresses") or [])]
    for each in dict.fromkeys(each for each in addresses if each):
        found.add(told.get("MacAddress") or each, address=address(each), **labels)


def _instance(told: dict[str, Any], found: Instances) -> None:
    """Read an instance of AWS. A terminated one is listed for an hour, without interfaces."""
    known = {"instance": told.get("InstanceId"), "name": _tag(told.get("Tags") or [])}
    ended = ENDED.search(str(told.get("StateTransitionReason") or ""))
    state = (told.get("State") or {}).get("Name")
    if state in {"terminated", "stopped"} and ended:
        known["ended"] = _iso(ended[1] + "+00:00")
    for interface in told.get("NetworkInterfaces") or []:
        _interface(interface, found, launched=told.get("LaunchTime"), **known)
    if not told.get("NetworkInterfaces") and told.get("PrivateIpAddress"):
        own = told["PrivateIpAddress"]
        found.add(own, address=address(own), launched=_iso(told.get("LaunchTime")), **known)


def _gcp(told: dict[str, Any], found: Instances) -> None:
    """Read an instance of Google's cloud, which names no MAC."""
    launched = told.get("lastStartTimestamp") or told.get("creationTimestamp")
    ended = told.get("lastStopTimestamp") if told.get("status") in {"TERMINATED", "STOPPED"} else None
    known = {"launched": _iso(launched), "ended": _iso(ended), "instance": told.get("id"), "name": told.get("name")}
    for interface in told.get("networkInterfaces") or []:
        for each in (interface.get("networkIP"), interface.get("ipv6Address")):
            if each:
                found.add(each, address=address(each), **known)


def _tag(tags: list[dict[str, str]]) -> str | None:
    return next((tag.get("Value") for tag in tags if tag.get("Key") == "Name"), None)


def _iso(text: str | None) -> str | None:
    """Return a time in UTC; None where there is none, or it is written as nobody does."""
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
    reading=Reading(tells=tells, facts=facts, reports=frozenset({v.INSTANCE_SEEN}), remarks=A_FEW_REMARKS),
)
