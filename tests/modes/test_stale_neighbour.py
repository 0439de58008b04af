"""Cases beyond the recordings: pasted output of plain commands, the client's side, IPv6, a refusing service."""

from collections.abc import Callable

import pytest

from leadsman.model import Diagnosis, Finding, Verdict

pytestmark = pytest.mark.spark

DEAD, NEW, BROKER = "02:5a:10:00:00:0a", "02:5a:10:00:00:0b", "02:5a:10:00:00:01"
HEAD = "State    Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n"
AT_BROKER = (
    HEAD + "LISTEN   0      50           0.0.0.0:9092       0.0.0.0:*\n"
    "SYN-RECV 0      0         10.20.4.11:9092    10.20.4.57:43736 timer:(on,1.584ms,3)\n"
    "ESTAB    0      0         10.20.4.11:9092    10.20.4.23:55944\n"
)
AT_CLIENT = HEAD + "SYN-SENT 0      1         10.20.4.57:43736   10.20.4.11:9092 timer:(on,936ms,3)\n"
AT_CLIENT_REFUSED = (
    "10:00:01.000000 02:5a:10:00:00:0b > 02:5a:10:00:00:03, ethertype IPv4 (0x0800), length 74: "
    "10.20.4.57.43800 > 10.20.4.13.9092: Flags [S], seq 1, win 64240, length 0\n"
    "10:00:01.000100 02:5a:10:00:00:03 > 02:5a:10:00:00:0b, ethertype IPv4 (0x0800), length 54: "
    "10.20.4.13.9092 > 10.20.4.57.43800: Flags [R.], seq 0, ack 2, win 0, length 0\n"
)


def neighbours(address: str, mac: str) -> str:
    return f"{address} dev eth0 lladdr {mac}  ref 1 used 2/0/2probes 4 REACHABLE \n"


def link(address: str, mac: str) -> str:
    family = "inet6" if ":" in address else "inet"
    return (
        "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default qlen 1000\n"
        f"    link/ether {mac} brd ff:ff:ff:ff:ff:ff\n"
        f"    {family} {address}/24 scope global eth0\n       valid_lft forever preferred_lft forever\n"
    )


CASES: dict[str, dict[str, str]] = {
    "three plain commands": {
        "broker-1/ss.txt": AT_BROKER,
        "broker-1/neigh.txt": neighbours("10.20.4.57", DEAD),
        "worker-3/address.txt": link("10.20.4.57", NEW),
    },
    "sockets without a mac": {"broker-1/ss.txt": AT_BROKER, "worker-3/ss.txt": AT_CLIENT},
    "an entry that is right": {
        "broker-1/ss.txt": AT_BROKER,
        "broker-1/neigh.txt": neighbours("10.20.4.57", NEW),
        "worker-3/address.txt": link("10.20.4.57", NEW),
    },
    "an unused wrong entry": {
        "broker-1/ss.txt": HEAD + "ESTAB 0 0 10.20.4.11:9092 10.20.4.23:55944\n",
        "broker-1/neigh.txt": neighbours("10.20.4.57", DEAD),
        "worker-3/address.txt": link("10.20.4.57", NEW),
    },
    "a client with a wrong mac": {
        "worker-3/ss.txt": AT_CLIENT,
        "worker-3/neigh.txt": neighbours("10.20.4.11", DEAD),
        "broker-1/address.txt": link("10.20.4.11", BROKER),
        "broker-1/ss.txt": HEAD + "ESTAB 0 0 10.20.4.11:9092 10.20.4.23:55944\n",
    },
    "ipv6": {
        "broker-1/ss.txt": HEAD + "SYN-RECV 0 0 [fd00::b:1]:9092 [fd00::57]:43736 timer:(on,1.584ms,3)\n",
        "broker-1/neigh.txt": neighbours("fd00::57", DEAD),
        "worker-3/address.txt": link("fd00::57", NEW),
    },
    "three outcomes": {
        "broker-1/ss.txt": AT_BROKER,
        "worker-3/ss.txt": AT_CLIENT,
        "worker-3/packets.txt": AT_CLIENT_REFUSED,
    },
    "sampled at the broker": {"host/ss.txt": AT_BROKER},
    "sampled at the client": {"host/ss.txt": AT_CLIENT},
}


@pytest.fixture(scope="module")
def findings(
    diagnosed: Callable[..., list[Diagnosis]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Finding | None]:
    """The finding of each case, or None where the mode is absent, in one Spark job: one by one takes seconds each."""
    folders = {name: tmp_path_factory.mktemp("neighbour") for name in CASES}
    for name, files in CASES.items():
        for file, text in files.items():
            (folders[name] / file).parent.mkdir(parents=True, exist_ok=True)
            (folders[name] / file).write_text(text)
    return {
        name: next((each for each in one.findings if each.mode == "stale_neighbour"), None)
        for name, one in zip(folders, diagnosed(list(folders.values()), ["stale_neighbour"]), strict=True)
    }


def outcomes(finding: Finding | None) -> dict[str, str]:
    assert finding is not None
    assert finding.matrix is not None
    return {f"{cell.row.split(' ')[0]} {cell.column.split(' ')[0]}": cell.outcome for cell in finding.matrix.cells}


def test_the_output_of_three_plain_commands_is_enough(findings):
    finding = findings["three plain commands"]

    assert finding.verdict is Verdict.PRESENT
    assert (finding.figures["entry_mac"], finding.figures["true_mac"]) == (DEAD, NEW)


def test_sockets_of_both_ends_without_a_mac_are_unknown_and_name_the_missing_command(findings):
    finding = findings["sockets without a mac"]

    assert finding.verdict is Verdict.UNKNOWN
    assert "leadsman collect host" in finding.next


def test_an_entry_that_is_right_is_no_stale_neighbour(findings):
    assert findings["an entry that is right"] is None


def test_an_unused_wrong_entry_is_no_incident(findings):
    assert findings["an unused wrong entry"] is None


def test_a_client_with_a_wrong_mac_for_the_broker_is_found_though_no_syn_arrives(findings):
    finding = findings["a client with a wrong mac"]

    assert finding.verdict is Verdict.PRESENT
    assert (finding.figures["entry_address"], finding.figures["true_mac"]) == ("10.20.4.11", BROKER)


def test_ipv6_neighbours_are_compared_like_ipv4_neighbours(findings):
    finding = findings["ipv6"]

    assert finding.verdict is Verdict.PRESENT
    assert finding.figures["entry_address"] == "fd00::57"


def test_the_matrix_distinguishes_established_opening_and_refused_pairs(findings):
    finding = findings["three outcomes"]

    assert sorted(outcomes(finding).values()) == ["SYN_SENT and SYN_RECV", "established", "refused"]
    assert finding.matrix.rows == 2
    assert [cell.is_harm for cell in finding.matrix.cells].count(True) == 1


@pytest.mark.parametrize(
    ("case", "outcome"), [("sampled at the broker", "SYN_RECV"), ("sampled at the client", "SYN_SENT")]
)
def test_a_pair_that_was_sampled_at_one_end_shows_that_end(case, outcome, findings):
    finding = findings[case]

    assert outcomes(finding)[next(iter(outcomes(finding)))] == outcome
