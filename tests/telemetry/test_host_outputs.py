"""Network outputs of a host: real ones of a broker whose neighbour entry for one client is stale."""

from __future__ import annotations

import io
import json
import socket
import struct
from pathlib import Path

import pytest

from leadsman import vocabulary as v
from leadsman.telemetry.outputs.parser import OutputContext
from leadsman.telemetry.source import all_sources, output_source
from leadsman.telemetry.sources.hosts.neighbour_table import matches_head

HOST = Path(__file__).with_name("host")
AT = 1_763_726_601_000
OUTPUTS = sorted(HOST.iterdir())
FILES = [pytest.param(path, id=path.stem) for path in OUTPUTS]
TEXTS = [pytest.param(path, id=path.stem) for path in OUTPUTS if path.suffix == ".txt"]
SOCKETS = ["ss-tan", "ss-tanoi", "ss-nop", "netstat-tan", "proc-net-tcp"]
TABLES = ["ip-neigh", "ip-s-neigh", "ip-j-neigh", "arp-an", "arp-n", "proc-net-arp"]
PACKETS = ["handshakes.pcap", "tcpdump.txt"]


def events_of(output: bytes, command: str = "") -> list[tuple[str, int, str, float | None, dict[str, str]]]:
    """Every event of an output: name, line, text, value, labels."""
    source = output_source(output)
    assert source is not None
    assert source.parser is not None
    context = OutputContext(file="some.txt", at=AT, subject="broker-1", command=command)
    pieces = [output[start : start + 700] for start in range(0, len(output), 700)]
    return [
        (events.name, events.lines[i], events.texts[i], events.values[i] if events.values else None, _labels(events, i))
        for events in source.parser.parse(iter(pieces), context)
        for i in range(len(events.lines))
    ]


def _labels(events, index: int) -> dict[str, str]:
    return {key: column[index] for key, column in events.labels.items() if column[index] is not None}


def labels_of(name: str, *, command: str = "") -> list[dict[str, str]]:
    """The labels of every event of one of the files."""
    return [labels for *_, labels in events_of((HOST / name).read_bytes(), command)]


@pytest.mark.parametrize("path", FILES)
def test_exactly_one_source_recognises_each_output(path: Path) -> None:
    head = path.read_bytes()

    matching = [source.name for source in all_sources() if source.parser and source.parser.matches(head)]

    assert len(matching) == 1


@pytest.mark.parametrize("path", TEXTS)
def test_every_quote_stands_on_its_line(path: Path) -> None:
    lines = path.read_text().splitlines()

    quoted = [(line, text) for _, line, text, *_ in events_of(path.read_bytes(), "ss -tan state syn-recv")]

    assert quoted
    assert [(line, text) for line, text in quoted if text not in lines[line - 1]] == []


@pytest.mark.parametrize("name", SOCKETS)
def test_a_half_open_connection_has_both_addresses_and_ports(name: str) -> None:
    (half_open,) = [labels for labels in labels_of(f"{name}.txt") if labels["state"] == "SYN-RECV"]

    ends = [half_open[key] for key in ("local", "local_port", "remote", "remote_port")]

    assert ends == ["10.20.4.11", "9092", "10.20.4.57", "48830"]


@pytest.mark.parametrize("name", SOCKETS)
def test_established_connections_are_counted_by_service(name: str) -> None:
    connected = {
        (labels["local_port"], labels["remote"])
        for labels in labels_of(f"{name}.txt")
        if labels["state"] == "ESTAB" and labels["local_port"] in {"9092", "9094"}
    }

    assert connected == {("9092", "10.20.4.57"), ("9092", "10.20.4.23"), ("9094", "10.20.4.57")}


def test_a_client_names_the_service_and_not_its_own_port() -> None:
    (connected,) = [labels for labels in labels_of("client-ss-tan.txt") if labels["state"] == "ESTAB"]

    assert connected["remote_port"] == "9094"
    assert "local_port" not in connected


def test_ipv4_in_the_form_of_ipv6_is_ipv4() -> None:
    ends = {(labels["local"], labels.get("remote")) for labels in labels_of("proc-net-tcp6.txt")}

    assert ends == {("*", "*"), ("10.20.4.11", "10.20.4.23")}


def test_a_list_of_one_state_takes_it_from_the_command() -> None:
    known = labels_of("ss-state-syn-recv.txt", command="ss -tan state syn-recv")
    unknown = labels_of("ss-state-syn-recv.txt")

    assert [labels["state"] for labels in known] == ["SYN-RECV"]
    assert unknown == []


def test_rows_without_a_heading_are_recognised() -> None:
    """`ss -tan | grep SYN` is what people paste."""
    (half_open,) = events_of(b"SYN-SENT  0      1         10.20.4.57:48830   10.20.4.11:9092\n")

    assert half_open[4]["state"] == "SYN-SENT"
    assert half_open[4]["remote"] == "10.20.4.11"


def test_retransmits_are_labels_where_the_list_has_them() -> None:
    (half_open,) = [labels for labels in labels_of("ss-tanoi.txt") if labels["state"] == "SYN-RECV"]

    assert half_open["retransmits"] == "5"


def test_very_many_connections_are_counted_by_endpoints_up_to_a_limit_and_all_in_total() -> None:
    head = b"State    Recv-Q Send-Q Local Address:Port Peer Address:Port\n"
    rows = [f"ESTAB 0 0 10.0.0.1:9092 10.{n >> 8}.{n & 255}.7:40000\n".encode() for n in range(1000)]

    events = events_of(head + b"".join(rows))

    assert len(events) == 301
    assert sum(value or 0 for _, _, _, value, _ in events) == 1000


@pytest.mark.parametrize("name", TABLES)
def test_every_form_of_the_neighbour_table_has_the_same_entries(name: str) -> None:
    entries = {(labels["address"], labels["mac"], labels["device"]) for labels in labels_of(f"{name}.txt")}

    assert entries == {("10.20.4.23", "02:5a:10:00:00:0c", "e0"), ("10.20.4.57", "02:5a:10:00:00:0a", "e0")}


def test_a_table_of_one_device_takes_the_device_from_the_command() -> None:
    """`ip neigh show dev eth0` leaves the device out."""
    rows = (
        b"10.0.0.9 lladdr 02:5a:10:00:00:0a PERMANENT \n"
        b"10.0.0.7  FAILED \n"
        b"fe80::1 lladdr 02:5a:10:00:00:0c router STALE \n"
    )

    bare = [each[4] for each in events_of(rows)]
    named = [each[4] for each in events_of(rows, command="ip neigh show dev eth0")]

    assert [(each["address"], each.get("mac"), each["state"]) for each in bare] == [
        ("10.0.0.9", "02:5a:10:00:00:0a", "PERMANENT"),
        ("10.0.0.7", None, "FAILED"),
        ("fe80::1", "02:5a:10:00:00:0c", "STALE"),
    ]
    assert {each["device"] for each in named} == {"eth0"}


@pytest.mark.parametrize(
    "odd", ['"dev": 7', '"lladdr": 7', '"state": [7]', '"state": "STALE"', '"state": {}', '"dev": null'], ids=str
)
def test_a_value_of_another_type_in_json_is_left_out(odd: str) -> None:
    events = events_of(f'[{{"dst": "10.0.0.9", {odd}}}, 7, {{"dst": "10.0.0.8", "dev": "eth0"}}]\n'.encode())

    assert [labels["address"] for *_, labels in events] == ["10.0.0.9", "10.0.0.8"]
    assert events[1][-1]["device"] == "eth0"
    assert all(isinstance(value, str) for *_, labels in events for value in labels.values())


@pytest.mark.parametrize("line", ["10.0.0.9 STALE", "10.0.0.9 is STALE", "10.0.0.9 lladdr"])
def test_a_sentence_with_an_address_and_a_state_is_no_table(line: str) -> None:
    assert not matches_head(line.encode())


@pytest.mark.parametrize(
    "line",
    [
        "10.0.0.9 dev eth0  FAILED",
        "fe80::9 dev eth0 INCOMPLETE",
        "fd00::1 dev eth0  used 2191/13251/2190probes 6 FAILED",
        "? (10.0.0.9) at <incomplete> on eth0",
    ],
)
def test_an_unresolved_address_has_no_mac(line: str) -> None:
    ((_, _, _, _, labels),) = events_of(f"{line}\n".encode())

    assert "mac" not in labels


@pytest.mark.parametrize(
    "line",
    [
        "fd00::57 dev e0 lladdr 2:5a:10:0:0:A router STALE",
        "fd00::57 lladdr 02:5A:10:00:00:0A used 1/2/3 probes 1 REACHABLE",
    ],
)
def test_ipv6_and_macs_come_in_one_form(line: str) -> None:
    ((_, _, _, _, labels),) = events_of(f"fd00::1 dev e0 FAILED\n{line}\n".encode())[1:]

    assert (labels["address"], labels["mac"]) == ("fd00::57", "02:5a:10:00:00:0a")


def test_addresses_come_with_the_mac_of_their_interface() -> None:
    links = [labels for labels in labels_of("ip-addr.txt") if labels["device"] == "e0"]

    assert {(each["mac"], each["mtu"], each.get("address")) for each in links} == {
        ("02:5a:10:00:00:01", "1500", None),
        ("02:5a:10:00:00:01", "1500", "10.20.4.11"),
    }


def test_only_settings_of_the_neighbour_table_become_events() -> None:
    settings = {labels["key"]: labels["value"] for labels in labels_of("sysctl.txt")}

    assert settings["net.ipv4.neigh.e0.gc_stale_time"] == "60"
    assert not [key for key in settings if key.startswith(("vm.", "kernel."))]


def test_a_drop_in_file_is_read_as_settings() -> None:
    ((name, line, _, value, labels),) = events_of(b"# Kafka\nnet.ipv4.neigh.default.gc_thresh1=0\n")

    assert (name, line, value, labels["key"]) == (v.SETTING, 2, 0.0, "net.ipv4.neigh.default.gc_thresh1")


@pytest.mark.parametrize("name", ["nstat.txt", "proc-net-netstat.txt"])
def test_overflow_counters_become_events_also_at_zero(name: str) -> None:
    counters = {labels["metric"]: value for _, _, _, value, labels in events_of((HOST / name).read_bytes())}

    assert counters["TcpExtListenOverflows"] == 0
    assert counters["TcpExtTCPSynRetrans"] == 5


def test_the_size_of_the_table_is_one_event() -> None:
    ((name, _, _, value, labels),) = events_of((HOST / "arp_cache.txt").read_bytes())

    assert (name, value, labels["metric"]) == (v.METRIC, 2.0, "neighbour_entries")


@pytest.mark.parametrize("name", PACKETS)
def test_an_answer_to_a_dead_mac_shows_in_the_packets(name: str) -> None:
    packets = [(labels, value) for _, _, _, value, labels in events_of((HOST / name).read_bytes())]
    ours = [(each, count) for each, count in packets if "48830" in {each["src_port"], each["dst_port"]}]

    kinds = {each["flags"]: (count or 0, each["src_mac"], each["dst_mac"]) for each, count in ours}

    assert kinds["S"] == (6, "02:5a:10:00:00:0b", "02:5a:10:00:00:01")
    assert kinds["SA"][1:] == ("02:5a:10:00:00:01", "02:5a:10:00:00:0a")
    assert kinds["SA"][0] > 6


def test_an_established_connection_has_one_packet_more() -> None:
    flags = {
        labels["flags"]
        for labels in labels_of("handshakes.pcap")
        if "53606" in {labels["src_port"], labels["dst_port"]}
    }

    assert flags == {"S", "SA", "A"}


def pcapng(frames: list[bytes]) -> bytes:
    """A capture file of the new form, as Wireshark writes it."""
    blocks = [
        struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28),
        struct.pack("<IIHHII", 1, 20, 1, 0, 0, 20),
    ]
    for frame in frames:
        padded = frame + bytes(-len(frame) % 4)
        size = 32 + len(padded)
        stamp = AT * 1000
        head = struct.pack("<IIIIIII", 6, size, 0, stamp >> 32, stamp & 0xFFFFFFFF, len(frame), len(frame))
        blocks.append(head + padded + struct.pack("<I", size))
    return b"".join(blocks)


def frame(source: str, target: str, flags: int, *, macs: tuple[str, str]) -> bytes:
    """An Ethernet frame with a TCP segment over IPv4 or IPv6."""
    mac = b"".join(bytes.fromhex(each.replace(":", "")) for each in macs)
    segment = struct.pack("!HHIIBBHHH", 40000, 9092, 1, 0, 0x50, flags, 1000, 0, 0)
    if ":" in source:
        ends = socket.inet_pton(socket.AF_INET6, source) + socket.inet_pton(socket.AF_INET6, target)
        return mac + b"\x86\xdd" + struct.pack("!IHBB", 6 << 28, len(segment), 6, 64) + ends + segment
    ends = socket.inet_aton(source) + socket.inet_aton(target)
    return mac + b"\x08\x00" + struct.pack("!BBHHHBBH", 0x45, 0, 40, 0, 0, 64, 6, 0) + ends + segment


@pytest.mark.parametrize(("source", "target"), [("10.0.0.7", "10.0.0.1"), ("fd00::7", "fd00::1")])
def test_pcapng_files_are_read(source: str, target: str) -> None:
    syn = frame(source, target, 2, macs=("02:00:00:00:00:01", "02:00:00:00:00:07"))

    ((_, number, text, value, labels),) = events_of(pcapng([syn, syn]))

    assert (number, value, labels["flags"], labels["src"]) == (1, 2.0, "S", source)
    assert text == f"SYN {source}:40000 > {target}:9092, from 02:00:00:00:00:07 to 02:00:00:00:00:01"


def test_a_capture_that_breaks_off_is_read_as_far_as_it_goes() -> None:
    complete = (HOST / "handshakes.pcap").read_bytes()

    events = events_of(complete[: len(complete) // 2])

    assert events


def test_the_error_for_a_damaged_capture_has_the_packet() -> None:
    complete = bytearray((HOST / "handshakes.pcap").read_bytes())
    complete[24 + 8 : 24 + 12] = b"\xff\xff\xff\x7f"

    with pytest.raises(OSError, match="packet 1 of the capture claims"):
        events_of(bytes(complete))


INTERFACE = {
    "Attachment": {"AttachTime": "2026-02-16T11:00:00+00:00", "InstanceId": "i-0a"},
    "MacAddress": "02:5A:10:00:00:0B",
    "PrivateIpAddress": "10.20.4.57",
    "PrivateIpAddresses": [{"PrivateIpAddress": "10.20.4.57"}, {"PrivateIpAddress": "10.20.4.58"}],
    "Ipv6Addresses": [{"Ipv6Address": "fd00::57"}],
    "TagSet": [{"Key": "Name", "Value": "worker-3"}],
}
ENDED = {
    "InstanceId": "i-09",
    "LaunchTime": "2026-02-16T08:00:00+00:00",
    "PrivateIpAddress": "10.20.4.57",
    "State": {"Name": "terminated"},
    "StateTransitionReason": "User initiated (2026-02-16 10:59:00 GMT)",
}
GOOGLE = {
    "creationTimestamp": "2026-02-16T03:00:00.000-08:00",
    "id": "42",
    "kind": "compute#instance",
    "name": "worker-3",
    "networkInterfaces": [{"networkIP": "10.20.4.57"}],
    "status": "RUNNING",
}


def inventory(document: object) -> bytes:
    """As clouds' commands print it."""
    return json.dumps(document, indent=4).encode()


def test_an_interface_of_aws_yields_all_its_addresses() -> None:
    events = events_of(inventory({"NetworkInterfaces": [INTERFACE]}))

    assert [labels["address"] for *_, labels in events] == ["10.20.4.57", "10.20.4.58", "fd00::57"]
    assert {labels["mac"] for *_, labels in events} == {"02:5a:10:00:00:0b"}
    assert events[0][4]["launched"] == "2026-02-16T11:00:00.000+00:00"
    assert events[0][2] == '            "MacAddress": "02:5A:10:00:00:0B",'


def test_a_terminated_instance_of_aws_has_its_end() -> None:
    ((_, _, _, _, labels),) = events_of(inventory({"Reservations": [{"Instances": [ENDED]}]}))

    assert labels["ended"] == "2026-02-16T10:59:00.000+00:00"
    assert "mac" not in labels


def test_an_instance_of_google_has_no_mac() -> None:
    ((_, _, _, _, labels),) = events_of(inventory([GOOGLE]))

    assert (labels["address"], labels["launched"]) == ("10.20.4.57", "2026-02-16T11:00:00.000+00:00")


def test_an_inventory_that_breaks_off_is_an_error() -> None:
    complete = inventory({"NetworkInterfaces": [INTERFACE]})

    with pytest.raises(OSError, match="breaks off"):
        events_of(complete[:-20])


@pytest.mark.parametrize("seed", range(40))
def test_damaged_outputs_are_parsed_or_raise_an_oserror(seed: int) -> None:
    """Each file with a few bytes changed is parsed into events, or raises OSError."""
    path = OUTPUTS[seed % len(OUTPUTS)]
    damaged = bytearray(path.read_bytes())
    damaged[seed * 37 % len(damaged)] = 255 - seed
    damaged[(seed * 101 + 30) % len(damaged)] = seed
    source = output_source(bytes(damaged))
    parser = source.parser if source else None

    events = [] if parser is None else _parse(parser, io.BytesIO(bytes(damaged)))

    assert all(each.lines for each in events)


def _parse(parser, file: io.BytesIO):
    try:
        return list(parser.parse(iter([file.read()]), OutputContext(file="some.txt")))
    except OSError:
        return []
