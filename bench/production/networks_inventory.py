"""Prints inventories as `aws ec2 describe-instances` and `describe-network-interfaces` do."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from bench.production.networks_fleet import HostFleet, Node

SUBNET, VPC = "subnet-0b7f1d22c9a4e8035", "vpc-04c1de97aa3b6f210"


def write_inventory(folder: Path, fleet: HostFleet, *, before: datetime, now: datetime) -> None:
    """Instances as they were at `before`, while the dead still ran, and at `now`, when they are terminated."""
    folder.mkdir()
    for moment in (before, now):
        path = folder / f"describe-instances-{moment:%Y-%m-%dT%H-%M-%SZ}.json"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(_instances(fleet, moment))
    with (folder / f"describe-network-interfaces-{now:%Y-%m-%dT%H-%M-%SZ}.json").open("w", encoding="utf-8") as file:
        file.writelines(_interfaces(fleet, now))


def _listed(rows: Iterator[dict[str, object]], name: str) -> Iterator[str]:
    yield f'{{\n    "{name}": [\n'
    separator = ""
    for row in rows:
        body = json.dumps(row, indent=4).replace("\n", "\n        ")
        yield f"{separator}        {body}"
        separator = ",\n"
    yield "\n    ]\n}\n"


def _instances(fleet: HostFleet, moment: datetime) -> Iterator[str]:
    return _listed(_reservations(fleet, moment), "Reservations")


def _reservations(fleet: HostFleet, moment: datetime) -> Iterator[dict[str, object]]:
    for node in (*fleet.brokers, *fleet.hosts):
        if node.launched <= moment:
            yield _reservation(_running(node))
    for host, dead in zip(fleet.reused, fleet.dead, strict=True):
        gone = host.launched - timedelta(minutes=4)
        yield _reservation(_running(dead) if moment < gone else _terminated(dead, gone))


def _reservation(instance: dict[str, object]) -> dict[str, object]:
    return {
        "Groups": [],
        "Instances": [instance],
        "OwnerId": "481516234200",
        "ReservationId": f"r-{str(instance['InstanceId'])[2:]}",
    }


def _tags(node: Node) -> list[dict[str, str]]:
    return [{"Key": "Name", "Value": f"{node.service}-{node.number}"}, {"Key": "team", "Value": "payments"}]


def _running(node: Node) -> dict[str, object]:
    return {
        "InstanceId": node.instance,
        "InstanceType": "m6i.xlarge",
        "LaunchTime": f"{node.launched:%Y-%m-%dT%H:%M:%S+00:00}",
        "PrivateDnsName": f"{node.name}.eu-west-1.compute.internal",
        "PrivateIpAddress": node.address,
        "State": {"Code": 16, "Name": "running"},
        "StateTransitionReason": "",
        "SubnetId": SUBNET,
        "VpcId": VPC,
        "NetworkInterfaces": [_interface_of_instance(node)],
        "Tags": _tags(node),
    }


def _interface_of_instance(node: Node) -> dict[str, object]:
    return {
        "MacAddress": node.mac,
        "NetworkInterfaceId": f"eni-0{node.instance[3:]}",
        "PrivateIpAddress": node.address,
        "Ipv6Addresses": [{"Ipv6Address": node.address6, "IsPrimaryIpv6": False}],
        "SourceDestCheck": True,
        "Status": "in-use",
    }


def _terminated(node: Node, gone: datetime) -> dict[str, object]:
    """A terminated instance is listed for about an hour or more, without addresses and interfaces."""
    return {
        "InstanceId": node.instance,
        "InstanceType": "m6i.xlarge",
        "LaunchTime": f"{node.launched:%Y-%m-%dT%H:%M:%S+00:00}",
        "PrivateDnsName": "",
        "State": {"Code": 48, "Name": "terminated"},
        "StateTransitionReason": f"User initiated ({gone:%Y-%m-%d %H:%M:%S} GMT)",
        "NetworkInterfaces": [],
        "Tags": _tags(node),
    }


def _interfaces(fleet: HostFleet, now: datetime) -> Iterator[str]:
    nodes = (node for node in (*fleet.brokers, *fleet.hosts) if node.launched <= now)
    return _listed((_interface(node) for node in nodes), "NetworkInterfaces")


def _interface(node: Node) -> dict[str, object]:
    return {
        "Attachment": {
            "AttachTime": f"{node.launched:%Y-%m-%dT%H:%M:%S+00:00}",
            "DeleteOnTermination": True,
            "DeviceIndex": 0,
            "InstanceId": node.instance,
            "Status": "attached",
        },
        "InterfaceType": "interface",
        "Ipv6Addresses": [{"Ipv6Address": node.address6}],
        "MacAddress": node.mac,
        "NetworkInterfaceId": f"eni-0{node.instance[3:]}",
        "PrivateIpAddress": node.address,
        "Status": "in-use",
        "SubnetId": SUBNET,
        "VpcId": VPC,
    }
