"""Captures of the lab network's hosts: `leadsman collect host`, run on each of them."""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.interrupt import defer_interrupts
from leadsman.lab.network import neighbour_table
from leadsman.lab.processes.program import SOURCES, Program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leadsman.lab.network.fabric import Fabric, NetworkInstance
    from leadsman.lab.run.run_context import RunContext

COLLECTED_TIMEOUT = timedelta(seconds=60)
WATCH_SECONDS = 600.0
"""The variant ends a handshake capture; this limit is for a variant that hangs."""


def record_hosts(context: RunContext, *names: str) -> None:
    """Record the network state of these instances now. Terminated instances are left out."""
    assert context.fabric is not None
    with tempfile.TemporaryDirectory(prefix="leadsman-hosts-") as scratch:
        for name in names:
            instance = context.fabric.instances.get(name)
            if instance is not None:
                _run_collect(instance, Path(scratch), "host", "--no-kernel-log")
        context.recorder.add_capture(Path(scratch) / "capture")
    limits = {family: neighbour_table.read_threshold(file) for family, file in FAMILIES.items()}
    # Only the first namespace shows them, and they hold for all.
    text = "".join(
        f"net.{name}.neigh.default.gc_thresh1 = {limit}\n" for name, limit in limits.items() if limit is not None
    )
    if text:
        context.recorder.section("host/settings.txt", text, source="settings", command=COMMAND, subject=names[0])


FAMILIES = {"ipv4": neighbour_table.THRESHOLD, "ipv6": neighbour_table.THRESHOLD_IPV6}


def record_collect(context: RunContext, name: str, *call: str) -> None:
    """Record what `leadsman collect` with these arguments collects from an instance."""
    assert context.fabric is not None
    with tempfile.TemporaryDirectory(prefix="leadsman-hosts-") as scratch:
        _run_collect(context.fabric.instances[name], Path(scratch), *call)
        context.recorder.add_capture(Path(scratch) / "capture")


COMMAND = "sysctl net.ipv4.neigh.default, in the first network namespace"


def _run_collect(instance: NetworkInstance, scratch: Path, *call: str) -> None:
    command = [sys.executable, "-m", "leadsman", "collect", *call, "--as", instance.name, "--out", "capture"]
    errors = scratch / "collect.log"
    with defer_interrupts():
        program = Program.start(
            f"collect on {instance.name}",
            command,
            folder=scratch,
            errors=errors,
            output=errors,
            environment={"PYTHONPATH": str(SOURCES)},
            netns_entry=instance.namespace.netns_entry,
        )
    with program:
        if program.wait_for_exit(timeout=COLLECTED_TIMEOUT) not in {0, 3}:
            raise LabError(f"Collecting on {instance.name} failed:\n{errors.read_text(errors='replace')[-1500:]}")


@contextmanager
def recording_handshakes(context: RunContext, *names: str, ports: Sequence[int]) -> Iterator[None]:
    """Record connections being opened on these ports of these instances, with MACs, until the block ends."""
    assert context.fabric is not None
    port_list = ",".join(map(str, ports))
    with tempfile.TemporaryDirectory(prefix="leadsman-hosts-") as scratch:
        with ExitStack() as stack:
            for name in names:
                stack.enter_context(_start_handshake_capture(context.fabric.instances[name], Path(scratch), port_list))
            yield
        for name in names:
            text = (Path(scratch) / f"{name}.txt").read_text(encoding="utf-8")
            command = f"leadsman collect host --handshakes {port_list}"
            context.recorder.section("host/handshakes.txt", text, source="handshakes", command=command, subject=name)


def _start_handshake_capture(instance: NetworkInstance, scratch: Path, ports: str) -> Program:
    command = [sys.executable, "-m", "leadsman.collect.handshakes", ports, str(WATCH_SECONDS)]
    output = scratch / f"{instance.name}.txt"
    with defer_interrupts():
        return Program.start(
            f"handshakes on {instance.name}",
            command,
            folder=scratch,
            errors=output,
            output=output,
            environment={"PYTHONPATH": str(SOURCES)},
            netns_entry=instance.namespace.netns_entry,
        )


def inventory(fabric: Fabric) -> str:
    """Return the running instances in the form of `aws ec2 describe-network-interfaces`."""
    return json.dumps({"NetworkInterfaces": [_interface(each) for each in fabric.instances.values()]}, indent=4) + "\n"


def _interface(instance: NetworkInstance) -> dict[str, object]:
    return {
        "Attachment": {
            "AttachTime": instance.launched.isoformat(timespec="seconds"),
            "InstanceId": f"i-{instance.number:017x}",
            "Status": "attached",
        },
        "MacAddress": instance.mac,
        "NetworkInterfaceId": f"eni-{instance.number:017x}",
        **_addresses(instance.namespace.address),
        "Status": "in-use",
        "TagSet": [{"Key": "Name", "Value": instance.name}],
    }


def _addresses(address: str) -> dict[str, object]:
    """Return an interface's addresses as AWS lists those of each family."""
    if ":" in address:
        return {"Ipv6Addresses": [{"Ipv6Address": address, "IsPrimaryIpv6": True}]}
    return {"PrivateIpAddress": address, "PrivateIpAddresses": [{"Primary": True, "PrivateIpAddress": address}]}


@contextmanager
def run_tcp_peer(fabric: Fabric, name: str, *call: str) -> Iterator[Program]:
    """Run programs/tcp_peer.py on an instance; it is ready when it has reported so."""
    with tempfile.TemporaryDirectory(prefix="leadsman-service-") as scratch:
        command = [sys.executable, "-m", "leadsman.lab.programs.tcp_peer", *call]
        with defer_interrupts():
            program = Program.start(
                f"{call[0]} on {name}",
                command,
                folder=Path(scratch),
                errors=Path(scratch) / "errors",
                environment={"PYTHONPATH": str(SOURCES)},
                netns_entry=fabric.instances[name].namespace.netns_entry,
            )
        with program:
            if call[0] != "connect" and not program.output.readline():
                raise LabError(f"{program.name} ended at once:\n{(Path(scratch) / 'errors').read_text()[-1500:]}")
            with suppress(LabError):
                yield program
