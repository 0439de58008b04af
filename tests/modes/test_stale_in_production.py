"""Cases of production networks: differing MACs of live hosts, duplicate addresses, and files that prove nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from leadsman.model import State, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leadsman.model import Diagnosis, Finding

pytestmark = pytest.mark.spark

DEAD, NEW, OTHER = "0a:58:10:00:00:0a", "0a:58:10:00:00:0b", "0a:58:10:00:00:0e"
BROKER, CLIENT = "10.20.4.11", "10.20.4.57"
HEAD = "State    Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n"
LISTENS = HEAD + "LISTEN   0      128          0.0.0.0:9092       0.0.0.0:*\n"
FINE = "ESTAB    0      0         10.20.4.11:9092    10.20.4.23:55944\n"
SYN_RECV = f"SYN-RECV 0      0         {BROKER}:9092    {CLIENT}:43736 timer:(on,1.584ms,3)\n"
SYN_SENT = f"SYN-SENT 0      1         {CLIENT}:43736   {BROKER}:9092 timer:(on,936ms,3)\n"
JAVA = (
    "2026-11-20 14:00:0{0},500 INFO [kafka-producer-network-thread | p] org.apache.kafka.clients.NetworkClient - "
    "[Producer clientId=p] Disconnecting from node 1 due to socket connection setup timeout. The timeout value is "
    "9462 ms.\n"
)


def neighbour(address: str, mac: str) -> str:
    return f"{address} dev eth0 lladdr {mac}  ref 1 used 2/0/2probes 4 REACHABLE \n"


def link(*own: tuple[str, str]) -> str:
    return "".join(
        f"{number}: eth{number}: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default\n"
        f"    link/ether {mac} brd ff:ff:ff:ff:ff:ff\n"
        f"    inet {address}/24 scope global eth{number}\n       valid_lft forever preferred_lft forever\n"
        for number, (address, mac) in enumerate(own, start=2)
    )


def packet(at: int, source: tuple[str, str, int], target: tuple[str, str, int], flags: str) -> str:
    return (
        f"2026-11-20 14:00:{at:02}.000000 {source[0]} > {target[0]}, ethertype IPv4 (0x0800), length 74: "
        f"{source[1]}.{source[2]} > {target[1]}.{target[2]}: Flags [{flags}], seq 1, win 64240, length 0\n"
    )


def handshakes(requested_by: str, answered_to: str, client: str = CLIENT) -> str:
    """A SYN and a SYN-ACK that are sent again and again, as the broker sees them."""
    return "".join(
        packet(at, (requested_by, client, 43736), (OTHER, BROKER, 9092), "S")
        + packet(at, (OTHER, BROKER, 9092), (answered_to, client, 43736), "S.")
        for at in (1, 2, 4)
    )


@dataclass(frozen=True)
class Case:
    """Files by name, and the verdict that an engineer would give on them."""

    verdict: Verdict
    files: Mapping[str, str] = field(default_factory=dict)


AT_BROKER = {"broker-1/ss.txt": LISTENS + SYN_RECV + FINE}
AT_CLIENT = {"worker-3/ss.txt": HEAD + SYN_SENT}
STALE = {"broker-1/neigh.txt": neighbour(CLIENT, DEAD) + neighbour("10.20.4.23", OTHER)}
IDENTITY = {"worker-3/address.txt": link((CLIENT, NEW))}
LATE = "2026-11-20T14:10:00.000Z"


def at(time: str, host: str, text: str) -> str:
    """The section that `collect` writes for one command."""
    return f"### leadsman {time} {host} out.txt $ ss -tan\n{text}### leadsman exit 0\n"


def half_link(part: str) -> str:
    return f"2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default\n    {part}\n"


BOTH = {
    **IDENTITY,
    "broker-1/ss.txt": LISTENS + SYN_RECV,
    "broker-2/ss.txt": HEAD + f"SYN-RECV 0      0         10.20.4.12:9092    {CLIENT}:43990 timer:(on,1.584ms,3)\n",
    "broker-1/neigh.txt": neighbour(CLIENT, DEAD),
    "broker-2/neigh.txt": neighbour(CLIENT, DEAD),
}
SETUP = (
    "2026-11-20 14:0{0}:00,500 INFO [kafka-producer-network-thread | p] org.apache.kafka.clients.NetworkClient - "
    "[Producer clientId=p] Disconnecting from node {1} due to socket connection setup timeout. The timeout value is "
    "9462 ms.\n"
)
DOCKER = (
    "%4|1795096801.500|FAIL|rdkafka#producer-1| [thrd:172.17.0.3:9092/3]: 172.17.0.3:9092/3: Connection setup timed "
    "out in state CONNECT (after 30037ms in state CONNECT)\n"
)
CONTROLLER = (
    "[2026-11-20 14:0{0}:30,000] INFO [QuorumController id=3001] {1} (org.apache.kafka.controller.ReplicationControl"
    "Manager)\n"
)
FENCED = CONTROLLER.format(1, "Fencing broker 4 because its session has timed out.")
UNFENCED = CONTROLLER.format(3, "The request from broker 4 to unfence has been granted because it has caught up.")
ROUTER = "".join(neighbour(f"10.20.4.{last}", DEAD) for last in (57, 61, 62, 63, 64))


def inventory(*instances: tuple[str, str, str, str]) -> str:
    rows = ",\n".join(
        f'    {{"MacAddress": "{mac}",\n     "PrivateIpAddress": "{address}",\n'
        f'     "Attachment": {{"InstanceId": "{instance}", "AttachTime": "{launched}"}}}}'
        for mac, address, instance, launched in instances
    )
    return f'{{"NetworkInterfaces": [\n{rows}\n]}}\n'


CASES = {
    "the entry of a dead instance": Case(Verdict.PRESENT, {**AT_BROKER, **AT_CLIENT, **STALE, **IDENTITY}),
    "the same by the inventory": Case(
        Verdict.PRESENT,
        {**AT_BROKER, **STALE, "interfaces.json": inventory((NEW, CLIENT, "i-2", "2026-11-20T09:00:00Z"))},
    ),
    "the same by packets at the broker alone": Case(Verdict.PRESENT, {"broker-1/packets.txt": handshakes(NEW, DEAD)}),
    "without the neighbour table": Case(Verdict.UNKNOWN, {**AT_BROKER, **AT_CLIENT, **IDENTITY}),
    "without the client's identity": Case(Verdict.UNKNOWN, {**AT_BROKER, **AT_CLIENT, **STALE}),
    "without a look at the broker, though the client has its MAC right": Case(
        Verdict.UNKNOWN,
        {
            **AT_CLIENT,
            **IDENTITY,
            "worker-3/neigh.txt": neighbour(BROKER, OTHER),
            "broker-1/address.txt": link((BROKER, OTHER)),
        },
    ),
    "with listeners of the broker alone": Case(Verdict.UNKNOWN, {**AT_CLIENT, **IDENTITY, "broker-1/ss.txt": LISTENS}),
    "logs of one worker, though another is behind a firewall": Case(
        Verdict.UNKNOWN,
        {
            "worker-9/ss.txt": f"### leadsman 2026-11-20T02:00:00.000Z worker-9 ss.txt $ ss -tan\n{HEAD}"
            "SYN-SENT 0 1 10.20.4.99:43000 10.20.4.12:9092 timer:(on,936ms,3)\n### leadsman exit 0\n",
            "broker-2/ss.txt": f"### leadsman 2026-11-20T02:00:01.000Z broker-2 ss.txt $ ss -tan\n{LISTENS}"
            "ESTAB 0 0 10.20.4.12:9092 10.20.4.23:55944\n### leadsman exit 0\n",
            "pods/orders-7f.log": JAVA.format(1) + JAVA.format(9),
        },
    ),
    "a second link of the client": Case(
        Verdict.ABSENT,
        {**AT_BROKER, **STALE, "worker-3/address.txt": link((CLIENT, NEW), ("10.20.4.58", DEAD))},
    ),
    "a second interface of the instance in the inventory": Case(
        Verdict.ABSENT,
        {
            **AT_BROKER,
            **STALE,
            "interfaces.json": inventory(
                (NEW, CLIENT, "i-2", "2026-11-20T09:00:00Z"), (DEAD, "10.20.4.58", "i-2", "2026-11-20T09:00:00Z")
            ),
        },
    ),
    "VRRP": Case(
        Verdict.ABSENT, {**AT_BROKER, **IDENTITY, "broker-1/neigh.txt": neighbour(CLIENT, "00:00:5e:00:01:0a")}
    ),
    "HSRP": Case(
        Verdict.ABSENT, {**AT_BROKER, **IDENTITY, "broker-1/neigh.txt": neighbour(CLIENT, "00:00:0c:07:ac:01")}
    ),
    "Azure": Case(
        Verdict.ABSENT, {**AT_BROKER, **IDENTITY, "broker-1/neigh.txt": neighbour(CLIENT, "12:34:56:78:9a:bc")}
    ),
    "proxy ARP": Case(Verdict.UNKNOWN, {**AT_BROKER, **IDENTITY, "broker-1/neigh.txt": ROUTER}),
    "the MAC of a host that is alive": Case(
        Verdict.UNKNOWN, {**AT_BROKER, **STALE, **IDENTITY, "worker-8/address.txt": link(("10.20.4.80", DEAD))}
    ),
    "a MAC that works for another": Case(
        Verdict.UNKNOWN,
        {
            **AT_BROKER,
            **STALE,
            **IDENTITY,
            "broker-2/neigh.txt": neighbour(CLIENT, DEAD),
            "broker-2/ss.txt": HEAD + f"ESTAB 0 0 10.20.4.12:9092 {CLIENT}:40000\n",
        },
    ),
    "an address on two hosts": Case(
        Verdict.UNKNOWN, {**AT_BROKER, **STALE, **IDENTITY, "worker-8/address.txt": link((CLIENT, DEAD))}
    ),
    "a table of an hour before": Case(
        Verdict.UNKNOWN,
        {
            "broker-1/ss.txt": f"### leadsman 2026-11-20T14:00:00.000Z broker-1 ss.txt $ ss -tan\n{LISTENS}{SYN_RECV}"
            "### leadsman exit 0\n",
            "broker-1/neigh.txt": f"### leadsman 2026-11-20T13:00:00.000Z broker-1 neigh.txt $ ip neigh\n"
            f"{neighbour(CLIENT, DEAD)}### leadsman exit 0\n",
            **IDENTITY,
        },
    ),
    "a table of after the cure": Case(
        Verdict.UNKNOWN,
        {
            "broker-1/ss.txt": f"### leadsman 2026-11-20T14:00:00.000Z broker-1 ss.txt $ ss -tan\n{LISTENS}{SYN_RECV}"
            "### leadsman exit 0\n",
            "broker-1/neigh.txt": f"### leadsman 2026-11-20T15:00:00.000Z broker-1 neigh.txt $ ip neigh\n"
            f"{neighbour(CLIENT, NEW)}### leadsman exit 0\n",
            **IDENTITY,
        },
    ),
    "packets that come and go through two routers": Case(
        Verdict.ABSENT,
        {"broker-1/packets.txt": handshakes(NEW, DEAD, "10.99.1.7") + handshakes(NEW, DEAD, "10.98.3.4")},
    ),
    "packets of one client of another subnet": Case(
        Verdict.UNKNOWN, {"broker-1/packets.txt": handshakes(NEW, DEAD, "10.99.1.7")}
    ),
    "packets with the answers alone": Case(
        Verdict.UNKNOWN,
        {
            "broker-1/packets.txt": "".join(
                packet(at, (OTHER, BROKER, 9092), (NEW, CLIENT, 43736), "S.") for at in (1, 2, 4)
            )
        },
    ),
    "two brokers with the wrong entry": Case(Verdict.PRESENT, BOTH),
    "a third broker with it that nobody needs": Case(
        Verdict.PRESENT, {**BOTH, "broker-3/neigh.txt": neighbour(CLIENT, DEAD)}
    ),
    "an entry that an administrator set": Case(
        Verdict.PRESENT,
        {**BOTH, **{f"broker-{n}/neigh.txt": f"{CLIENT} dev eth0 lladdr {DEAD} PERMANENT \n" for n in (1, 2)}},
    ),
    "an incident that is over": Case(
        Verdict.PRESENT,
        {
            **IDENTITY,
            "broker-1/ss.txt": at("2026-11-20T14:00:00.000Z", "broker-1", LISTENS + SYN_RECV)
            + at(LATE, "broker-1", LISTENS + f"ESTAB 0 0 {BROKER}:9092 {CLIENT}:43800\n"),
            "broker-1/neigh.txt": at("2026-11-20T14:00:00.000Z", "broker-1", neighbour(CLIENT, DEAD))
            + at(LATE, "broker-1", neighbour(CLIENT, NEW)),
        },
    ),
    "the client's MAC and its address by two commands": Case(
        Verdict.PRESENT,
        {
            **AT_BROKER,
            **STALE,
            "worker-3/link.txt": half_link(f"link/ether {NEW} brd ff:ff:ff:ff:ff:ff"),
            "worker-3/address.txt": half_link(f"inet {CLIENT}/24 scope global eth0"),
        },
    ),
    "two MACs in the tables and nobody's own": Case(
        Verdict.UNKNOWN,
        {
            **AT_BROKER,
            "broker-1/neigh.txt": neighbour(CLIENT, DEAD),
            "broker-2/neigh.txt": neighbour(CLIENT, NEW),
        },
    ),
    "a client whom nobody answers for the broker's address": Case(
        Verdict.ABSENT,
        {
            "worker-3/ss.txt": at(LATE, "worker-3", HEAD + SYN_SENT),
            "worker-3/neigh.txt": at(LATE, "worker-3", f"{BROKER} dev eth0 FAILED \n"),
        },
    ),
    "a client that nobody answered once, and that has a MAC now": Case(
        Verdict.UNKNOWN,
        {**AT_CLIENT, "worker-3/neigh.txt": f"{BROKER} dev eth0 FAILED \n" + neighbour(BROKER, OTHER)},
    ),
    "logs of clients that try a container's address": Case(Verdict.UNKNOWN, {"pods/ledger.log": DOCKER * 2}),
    "logs of timeouts while their broker was fenced": Case(
        Verdict.ABSENT,
        {"pods/orders-7f.log": SETUP.format(1, 4) + SETUP.format(2, 2147483643), "c/controller.log": FENCED + UNFENCED},
    ),
    "logs of timeouts at a broker that stayed fenced": Case(
        Verdict.UNKNOWN, {"pods/orders-7f.log": SETUP.format(1, 4) + SETUP.format(2, 4), "c/controller.log": FENCED}
    ),
    "logs of timeouts that go on after the broker was back": Case(
        Verdict.UNKNOWN,
        {"pods/orders-7f.log": SETUP.format(2, 4) + SETUP.format(6, 4), "c/controller.log": FENCED + UNFENCED},
    ),
    "an entry that is right": Case(
        Verdict.ABSENT, {**AT_BROKER, **AT_CLIENT, **IDENTITY, "broker-1/neigh.txt": neighbour(CLIENT, NEW)}
    ),
}


@pytest.fixture(scope="module")
def found(diagnosed: Callable[..., list[Diagnosis]], tmp_path_factory) -> dict[str, Diagnosis]:
    """The diagnosis of every case, in one run."""
    folders = {name: tmp_path_factory.mktemp("case") for name in CASES}
    for name, folder in folders.items():
        for file, text in CASES[name].files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text)
    named = {each.path: each for each in diagnosed(list(folders.values()), ["stale_neighbour"])}
    return {name: named[str(folder)] for name, folder in folders.items()}


def finding(diagnosis: Diagnosis) -> Finding:
    """The finding of the mode."""
    return next(each for each in diagnosis.findings if each.mode == "stale_neighbour")


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_is_that_of_an_engineer(name: str, found: dict[str, Diagnosis]) -> None:
    verdict = found[name].verdicts["stale_neighbour"]

    assert verdict is CASES[name].verdict


def test_an_address_on_two_hosts_is_named_a_duplicate(found: dict[str, Diagnosis]) -> None:
    figures = finding(found["an address on two hosts"]).figures

    assert (figures["duplicate"], figures["duplicates"]) == (CLIENT, "worker-3, worker-8")


def test_every_host_with_the_wrong_entry_is_named_with_the_command(found: dict[str, Diagnosis]) -> None:
    result = finding(found["two brokers with the wrong entry"])
    hosts = f"on broker-1 ({BROKER}) and broker-2 (10.20.4.12)"

    assert f"{hosts}: `leadsman remedy stale_neighbour {CLIENT} --mac {NEW} --do`" in result.do_now[0]
    assert hosts in result.cure[0].why
    assert result.cure[0].settings == f"ip neigh del {CLIENT} dev eth0"


def test_a_host_with_an_unused_wrong_entry_is_named_too(found: dict[str, Diagnosis]) -> None:
    figures = finding(found["a third broker with it that nobody needs"]).figures

    assert figures["other_repair_commands"] == f"on broker-3: `ip neigh del {CLIENT} dev eth0`"


def test_a_permanent_entry_is_not_attributed_to_the_threshold(found: dict[str, Diagnosis]) -> None:
    result = finding(found["an entry that an administrator set"])
    (link,) = [each for each in result.chain if each.link == "never_deleted"]

    assert link.state is State.CONTRADICTED
    assert any("PERMANENT" in step for step in result.do_now)
    assert not any("leadsman remedy" in step for step in result.do_now)


def test_an_incident_that_is_over_needs_no_repair(found: dict[str, Diagnosis]) -> None:
    result = finding(found["an incident that is over"])

    assert (result.figures["last_failed"], result.figures["ended_at"]) == ("14:00:00", "14:10:00")
    assert not any("ip neigh del" in step for step in result.do_now)


def test_differing_macs_are_reported_though_their_owners_are_not_known(found: dict[str, Diagnosis]) -> None:
    figures = finding(found["two MACs in the tables and nobody's own"]).figures

    assert figures["unverified_entry"] == f"broker-1 has {DEAD} for {CLIENT}"
    assert figures["unverified_entry_elsewhere"] == f"broker-2 has {NEW} for {CLIENT}"


def test_an_unroutable_address_is_named(found: dict[str, Diagnosis]) -> None:
    result = finding(found["logs of clients that try a container's address"])
    (refused,) = [each for each in result.alternatives if each.cause.startswith("The server refused")]

    assert result.figures["unroutable"] == "172.17.0.3"
    assert refused.ruled_out_by


@pytest.mark.parametrize("name", ["without the neighbour table", "logs of clients that try a container's address"])
def test_no_repair_is_recommended_without_a_wrong_mac(name: str, found: dict[str, Diagnosis]) -> None:
    result = finding(found[name])

    assert result.do_now == ()
    assert "ip neigh del ADDRESS" in result.cure[0].settings
