"""Writes what is no text: heap dumps of a real JVM, captured packets, snapshots of producer state."""

from __future__ import annotations

import struct
import subprocess
from ipaddress import IPv4Address
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from bench import census
from bench.forms.collectors import SEED
from bench.forms.outputs import fleet_of

from leadsman.java import runtime

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.production.networks_fleet import Node

SNAPSHOT_ENTRY_BYTES = 46
HOLDER = Path(__file__).parent / "ProducerStateEntry.java"
HOLDER_CLASS = "org.apache.kafka.storage.internals.log.ProducerStateEntry"
DUMP_BYTES_OF_ID = 416
"""What an id takes in a dump: references have 8 bytes there."""

PCAP_HEAD = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 1)
KEPT = 96
"""Bytes kept of each packet: `tcpdump -s 96`."""

SEGMENTS = 12
"""Packets of a connection behind its handshake."""

SYN, SYN_ACK, ACK, PUSH = 0x02, 0x12, 0x10, 0x18


def snapshots(folder: Path, size: int) -> None:
    """Snapshots of producer state, as they lie in partitions' folders."""
    census.generate(folder, max(1, size // SNAPSHOT_ENTRY_BYTES))


def heap_dump(folder: Path, size: int) -> None:
    """A dump of a JVM that holds producer ids as a broker does, one record each; a third of it are buffers."""
    ids = max(1, size * 2 // 3 // DUMP_BYTES_OF_ID)
    heap_mb = 64 + size * 2 // 1_000_000
    command = [
        str(runtime.find_java()),
        f"-Xmx{heap_mb}m",
        *runtime.SMALL_JVM_OPTIONS,
        "-cp",
        str(runtime.compile_source(HOLDER, [])),
        HOLDER_CLASS,
    ]
    with subprocess.Popen(
        [*command, str(ids), str(size // 3)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        program.stdout.readline()
        dump = [str(runtime.find_tool("jcmd")), str(program.pid), "GC.heap_dump", str(folder / "broker-1.hprof")]
        subprocess.run(dump, check=True, stdout=subprocess.DEVNULL)
        program.communicate("\n")


def packets(folder: Path, size: int) -> None:
    """`tcpdump -w` on brokers: connections of many hosts, each with its handshake and a few segments."""
    random = Random(SEED)
    connection = (3 + SEGMENTS) * (16 + KEPT)
    fleet = fleet_of(size, connection, random)
    for broker in fleet.brokers:
        with (folder / f"{broker.name}.pcap").open("wb") as out:
            out.write(PCAP_HEAD)
            for number in range(max(1, size // (len(fleet.brokers) * connection))):
                host = fleet.hosts[number % len(fleet.hosts)]
                out.write(b"".join(_connection(host, broker, number, random)))


def _connection(host: Node, broker: Node, number: int, random: Random) -> Iterator[bytes]:
    at = int(host.launched.timestamp()) + number // 50
    port = 32_768 + number * 31 % 28_000
    there, back = (host, broker, port, 9092), (broker, host, 9092, port)
    ways = [(there, SYN), (back, SYN_ACK), (there, ACK), *([(there, PUSH), (back, ACK)] * (SEGMENTS // 2))]
    for index, (way, flags) in enumerate(ways):
        data = _frame(*way, flags=flags, number=random.getrandbits(32))
        yield struct.pack("<IIII", at, number % 50 * 20_000 + index * 300, KEPT, 400) + data


def _frame(source: Node, target: Node, source_port: int, target_port: int, *, flags: int, number: int) -> bytes:
    macs = bytes.fromhex((target.mac + source.mac).replace(":", ""))
    ends = IPv4Address(source.address).packed + IPv4Address(target.address).packed
    packet = struct.pack("!BBHHHBBH", 0x45, 0, KEPT - 14, 1, 0, 64, 6, 0) + ends
    segment = struct.pack("!HHIIBBHHH", source_port, target_port, number, 1, 0x50, flags, 502, 0, 0)
    return (macs + b"\x08\x00" + packet + segment).ljust(KEPT, b"\0")
