"""A switch in user space that behaves as a cloud's network: it knows the owner of each address and sends no ARP.

It answers ARP and neighbour solicitations itself, by the lab's configuration, and never forwards them; it forwards by
MAC and drops a frame to a MAC that no running instance owns: that log is the lab's oracle for a stale neighbour.

standard input    one JSON object a line: the network's state from now on (fabric.py); "ok" once it is applied
standard error    one JSON object a frame that was not delivered
"""

from __future__ import annotations

import io
import ipaddress
import json
import os
import select
import socket
import struct
import time
from contextlib import suppress
from dataclasses import dataclass, field

ETH_P_ALL = 3
SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 263, 15, 23
"""From linux/if_packet.h. The header before each frame says which checksum the kernel left undone. Forwarded with the
frame, it makes the receiving kernel accept the packet; no interface needs its offloads switched off."""

VNET_HEADER = 10
LARGEST_FRAME = 65_536 + 100
ARP, IPV4, IPV6 = b"\x08\x06", b"\x08\x00", b"\x86\xdd"
TCP, ICMPV6 = 6, 58
SOLICITATION, ADVERTISEMENT = 135, 136
BROADCAST = b"\xff" * 6
SHORTEST_SOLICITATION = 78


@dataclass(slots=True)
class Network:
    """The network's state, in the forms that frames use."""

    port_of: dict[bytes, str] = field(default_factory=dict)
    mac_of: dict[bytes, bytes] = field(default_factory=dict)
    unicast: str = "silent"
    balanced: tuple[int, ...] = ()
    denied: tuple[tuple[bytes, int, bytes, int], ...] = ()
    largest: int = 0


def parse_network(state: dict[str, object]) -> Network:
    """Read one line of standard input."""
    instances = state["instances"]
    assert isinstance(instances, dict)
    own = {raw(each["mac"]): port for port, each in instances.items()}
    addresses = {packed(a): raw(each["mac"]) for each in instances.values() for a in each["addresses"]}
    denied = tuple((packed(a), b, packed(c), d) for a, b, c, d in state["denied"])  # type: ignore[attr-defined]
    balanced, largest = state["balanced"], state["largest"]
    return Network(own, addresses, str(state["unicast"]), tuple(balanced), denied, int(largest))  # type: ignore[arg-type, call-overload]


def raw(mac: str) -> bytes:
    """Return a MAC's six bytes."""
    return bytes.fromhex(mac.replace(":", ""))


def packed(address: str) -> bytes:
    """Return an address's four or sixteen bytes."""
    return ipaddress.ip_address(address).packed


@dataclass(slots=True)
class Switch:
    """Ports by name, and the network as it is now."""

    configuration: io.FileIO
    network: Network = field(default_factory=Network)
    ports: dict[str, socket.socket] = field(default_factory=dict)

    def run(self) -> None:
        """Switch until standard input ends."""
        while True:
            ready, _, _ = select.select([0, *(sock.fileno() for sock in self.ports.values())], [], [])
            if 0 in ready and not self._apply_configuration():
                return
            for name, sock in self.ports.items():
                if sock.fileno() in ready:
                    self._receive(name, sock)

    def _apply_configuration(self) -> bool:
        line = self.configuration.readline()
        if not line:
            return False
        self.network = parse_network(json.loads(line))
        names = set(self.network.port_of.values())
        for name in set(self.ports) - names:
            self.ports.pop(name).close()
        for name in names - set(self.ports):
            self.ports[name] = _open_port(name)
        os.write(1, b"ok\n")
        return True

    def _receive(self, name: str, sock: socket.socket) -> None:
        with suppress(OSError):  # its interface is gone: the instance was terminated
            data = sock.recv(LARGEST_FRAME, socket.MSG_DONTWAIT)
            frame = data[VNET_HEADER:]
            if self.network.port_of.get(frame[6:12]) != name:
                return  # from a MAC that is not the instance's: a cloud lets no such frame in
            if frame[12:14] == ARP:
                self._answer(name, frame, arp_answer(frame, self.network))
            elif is_solicitation(frame):
                self._answer(name, frame, solicitation_answer(frame, self.network))
            elif frame[12:14] in {IPV4, IPV6}:
                self._forward(name, data[:VNET_HEADER], frame)

    def _answer(self, port: str, frame: bytes, answer: bytes | None) -> None:
        if answer is not None:
            self.ports[port].send(bytes(VNET_HEADER) + frame[6:12] + answer)

    def _forward(self, port: str, header: bytes, frame: bytes) -> None:
        source, source_port, target, target_port = flow_of(frame)
        to = self.network.port_of.get(frame[:6])
        if to is None and source_port in self.network.balanced:  # a tracked flow: delivered whatever its MAC says
            mac = self.network.mac_of.get(target, frame[:6])
            to, frame = self.network.port_of.get(mac), mac + frame[6:]
        if to is None:
            if frame[:6] != BROADCAST and not frame[0] & 1:
                log_drop("unknown MAC", port, frame)
        elif any(_matches((source, source_port, target, target_port), rule) for rule in self.network.denied):
            log_drop("denied", port, frame)
        elif self.network.largest and _size(header, frame) > self.network.largest:
            log_drop("too large", port, frame)
        else:
            self.ports[to].send(header + frame)


def _open_port(name: str) -> socket.socket:
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    sock.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    sock.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    sock.bind((name, 0))
    return sock


def _size(header: bytes, frame: bytes) -> int:
    """Return the size of the packets that a frame would be cut into, which the kernel leaves to the interface."""
    segment: int = struct.unpack_from("=H", header, 4)[0]
    return segment or len(frame)


def arp_answer(frame: bytes, network: Network) -> bytes | None:
    """Return what follows the target MAC of the answer to an ARP request; None for silence."""
    (operation,) = struct.unpack_from("!H", frame, 20)
    sender_mac, sender, target = frame[22:28], frame[28:32], frame[38:42]
    if operation != 1 or sender == target:
        return None
    mac = _answered_mac(frame[:6], network.mac_of.get(target), network, is_broadcast=frame[:6] == BROADCAST)
    return (
        None
        if mac is None
        else mac + ARP + struct.pack("!HH2BH", 1, 0x0800, 6, 4, 2) + mac + target + sender_mac + sender
    )


def is_solicitation(frame: bytes) -> bool:
    """Whether this is a neighbour solicitation of IPv6, which asks for a MAC."""
    return (
        frame[12:14] == IPV6
        and frame[20] == ICMPV6
        and len(frame) >= SHORTEST_SOLICITATION
        and frame[54] == SOLICITATION
    )


def solicitation_answer(frame: bytes, network: Network) -> bytes | None:
    """Return the neighbour advertisement, in the form of `arp_answer`; None for silence, as to a duplicate check."""
    sender, target = frame[22:38], frame[62:78]
    mac = _answered_mac(frame[:6], network.mac_of.get(target), network, is_broadcast=bool(frame[0] & 1))
    if mac is None or not any(sender):
        return None
    message = struct.pack("!BBHI", ADVERTISEMENT, 0, 0, 0x60000000) + target + b"\x02\x01" + mac
    pseudo = target + sender + struct.pack("!II", len(message), ICMPV6)
    message = message[:2] + struct.pack("!H", checksum(pseudo + message)) + message[4:]
    return mac + IPV6 + struct.pack("!IHBB", 0x60000000, len(message), ICMPV6, 255) + target + sender + message


def checksum(data: bytes) -> int:
    """Return the Internet checksum."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _answered_mac(requested: bytes, owner: bytes | None, network: Network, *, is_broadcast: bool) -> bytes | None:
    """Return the answer's MAC: to a broadcast the owner's; to a unicast probe of a MAC, what `unicast` says."""
    if is_broadcast or network.unicast == "truth":
        return owner
    return requested if network.unicast == "confirm" else None


Flow = tuple[bytes, int, bytes, int]
"""Source address and port, target address and port."""


def flow_of(frame: bytes) -> Flow:
    """Return source and target of the packet; ports are 0 where it is not TCP."""
    if frame[12:14] == IPV4:
        source, target, protocol, header_end = frame[26:30], frame[30:34], frame[23], 14 + (frame[14] & 15) * 4
    else:
        source, target, protocol, header_end = frame[22:38], frame[38:54], frame[20], 54
    ports = struct.unpack_from("!HH", frame, header_end) if protocol == TCP and len(frame) >= header_end + 4 else (0, 0)
    return source, ports[0], target, ports[1]


def _matches(flow: Flow, rule: Flow) -> bool:
    return all(rule_part in {0, part} for part, rule_part in zip(flow, rule, strict=True))


def log_drop(why: str, port: str, frame: bytes) -> None:
    """Log a frame that was not delivered."""
    source, source_port, target, target_port = flow_of(frame)
    record = {
        "at": time.time(),
        "why": why,
        "port": port,
        "mac": frame[:6].hex(":"),
        "from": [str(ipaddress.ip_address(source)), source_port],
        "to": [str(ipaddress.ip_address(target)), target_port],
    }
    os.write(2, json.dumps(record).encode() + b"\n")


if __name__ == "__main__":
    Switch(io.FileIO(0)).run()
