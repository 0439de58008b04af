"""The state of hosts' networks: sockets, neighbour tables, interfaces, packets, inventories."""

from leadsman import vocabulary as names
from leadsman.event_types.definition import EventType

EVENTS = (
    EventType(
        names.SOCKET_SEEN,
        "A TCP socket, or several between the same two ends.",
        value="how many",
        unit="sockets",
        labels={
            "state": "as `ss` writes it",
            "local": "the local address",
            "local_port": "",
            "remote": "the remote address",
            "remote_port": "",
            "recv_q": "bytes, or connections of a listening socket",
            "send_q": "bytes, or the backlog of a listening socket",
            "retransmits": "retransmissions so far",
        },
    ),
    EventType(
        names.NEIGHBOUR_ENTRY,
        "The MAC address that a host's neighbour table holds for an address.",
        labels={
            "address": "",
            "mac": "none where the resolution failed",
            "state": "REACHABLE, STALE, ...",
            "device": "the interface",
            "updated": "seconds since the entry was updated",
        },
    ),
    EventType(
        names.LINK_SEEN,
        "A network interface of a host.",
        labels={"device": "the interface", "mac": "", "mtu": "", "address": ""},
    ),
    EventType(
        names.HANDSHAKE_PACKET,
        "A TCP packet that opens or refuses a connection, as a host captured it.",
        value="how many like it",
        unit="packets",
        labels={
            "flags": "S, SA, A or R",
            "src": "",
            "src_port": "",
            "dst": "",
            "dst_port": "",
            "src_mac": "",
            "dst_mac": "",
        },
    ),
    EventType(
        names.INSTANCE_SEEN,
        "An instance or interface in a cloud's inventory.",
        labels={
            "address": "",
            "mac": "",
            "launched": "ISO time",
            "ended": "ISO time",
            "instance": "the instance's id",
            "name": "the instance's name",
        },
    ),
)
