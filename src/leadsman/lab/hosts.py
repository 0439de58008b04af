"""What hosts of the lab's network say of themselves: recorded by `leadsman collect host`, run on each of them."""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.interrupt import undisturbed
from leadsman.lab import kernel
from leadsman.lab.process import SOURCES, Program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leadsman.lab.experiment import Stage
    from leadsman.lab.fabric import Fabric, Instance

TAKEN_WITHIN = timedelta(seconds=60)
WATCH_SECONDS = 600.0
"""A watch is ended by the play; this is for a play that hangs."""


def snapshot(stage: Stage, *names: str) -> None:
    """Record how these instances' networks stand now. Instances that are gone are left out."""
    assert stage.fabric is not None
    with tempfile.TemporaryDirectory(prefix="leadsman-hosts-") as scratch:
        for name in names:
            instance = stage.fabric.instances.get(name)
            if instance is not None:
                _collected(instance, Path(scratch), "host", "--no-kernel-log")
        stage.recorder.add(Path(scratch) / "capture")
    limits = {family: kernel.threshold(file) for family, file in FAMILIES.items()}
    # No namespace but the first one shows them, and they are one for all.
    text = "".join(
        f"net.{name}.neigh.default.gc_thresh1 = {limit}\n" for name, limit in limits.items() if limit is not None
    )
    if text:
        stage.recorder.section("host/settings.txt", text, source="settings", command=COMMAND, subject=names[0])


FAMILIES = {"ipv4": kernel.THRESHOLD, "ipv6": kernel.OF_IPV6}


def collected(stage: Stage, name: str, *call: str) -> None:
    """Record what `leadsman collect` with these words finds from an instance."""
    assert stage.fabric is not None
    with tempfile.TemporaryDirectory(prefix="leadsman-hosts-") as scratch:
        _collected(stage.fabric.instances[name], Path(scratch), *call)
        stage.recorder.add(Path(scratch) / "capture")


COMMAND = "sysctl net.ipv4.neigh.default, in the first network namespace"


def _collected(instance: Instance, scratch: Path, *call: str) -> None:
    command = [sys.executable, "-m", "leadsman", "collect", *call, "--as", instance.name, "--out", "capture"]
    errors = scratch / "collect.log"
    with undisturbed():
        program = Program.start(
            f"collect on {instance.name}",
            command,
            folder=scratch,
            errors=errors,
            output=errors,
            environment={"PYTHONPATH": str(SOURCES)},
            way=instance.place.way,
        )
    with program:
        if program.ended(within=TAKEN_WITHIN) not in {0, 3}:
            raise LabError(f"Collecting on {instance.name} failed:\n{errors.read_text(errors='replace')[-1500:]}")


@contextmanager
def watched(stage: Stage, *names: str, ports: Sequence[int]) -> Iterator[None]:
    """Record connections being opened on these ports of these instances, with MACs, while it lasts."""
    assert stage.fabric is not None
    which = ",".join(map(str, ports))
    with tempfile.TemporaryDirectory(prefix="leadsman-hosts-") as scratch:
        with ExitStack() as stack:
            for name in names:
                stack.enter_context(_watch(stage.fabric.instances[name], Path(scratch), which))
            yield
        for name in names:
            text = (Path(scratch) / f"{name}.txt").read_text(encoding="utf-8")
            command = f"leadsman collect host --handshakes {which}"
            stage.recorder.section("host/handshakes.txt", text, source="handshakes", command=command, subject=name)


def _watch(instance: Instance, scratch: Path, ports: str) -> Program:
    command = [sys.executable, "-m", "leadsman.collect.handshakes", ports, str(WATCH_SECONDS)]
    output = scratch / f"{instance.name}.txt"
    with undisturbed():
        return Program.start(
            f"watch on {instance.name}",
            command,
            folder=scratch,
            errors=output,
            output=output,
            environment={"PYTHONPATH": str(SOURCES)},
            way=instance.place.way,
        )


def inventory(fabric: Fabric) -> str:
    """Return what `aws ec2 describe-network-interfaces` would say of the running instances."""
    return json.dumps({"NetworkInterfaces": [_interface(each) for each in fabric.instances.values()]}, indent=4) + "\n"


def _interface(instance: Instance) -> dict[str, object]:
    return {
        "Attachment": {
            "AttachTime": instance.launched.isoformat(timespec="seconds"),
            "InstanceId": f"i-{instance.number:017x}",
            "Status": "attached",
        },
        "MacAddress": instance.mac,
        "NetworkInterfaceId": f"eni-{instance.number:017x}",
        **_addresses(instance.place.address),
        "Status": "in-use",
        "TagSet": [{"Key": "Name", "Value": instance.name}],
    }


def _addresses(address: str) -> dict[str, object]:
    """Return an interface's addresses as AWS lists those of each family."""
    if ":" in address:
        return {"Ipv6Addresses": [{"Ipv6Address": address, "IsPrimaryIpv6": True}]}
    return {"PrivateIpAddress": address, "PrivateIpAddresses": [{"Primary": True, "PrivateIpAddress": address}]}


@contextmanager
def service(fabric: Fabric, name: str, *call: str) -> Iterator[Program]:
    """Run programs/chat.py on an instance; ready when it has said so."""
    with tempfile.TemporaryDirectory(prefix="leadsman-service-") as scratch:
        command = [sys.executable, "-m", "leadsman.lab.programs.chat", *call]
        with undisturbed():
            program = Program.start(
                f"{call[0]} on {name}",
                command,
                folder=Path(scratch),
                errors=Path(scratch) / "errors",
                environment={"PYTHONPATH": str(SOURCES)},
                way=fabric.instances[name].place.way,
            )
        with program:
            if call[0] != "knock" and not program.output.readline():
                raise LabError(f"{program.name} ended at once:\n{(Path(scratch) / 'errors').read_text()[-1500:]}")
            with suppress(LabError):
                yield program
