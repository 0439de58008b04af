"""A neighbour entry that keeps the MAC of a dead instance, whose address another one has now."""

from leadsman.model import Axes, Cure, FailureMode, Harm, Layer, Link
from leadsman.modes.stale_neighbour.rivals import RIVALS
from leadsman.vocabulary import (
    BOOTSTRAP_FAILED,
    CONNECTION_SETUP_TIMED_OUT,
    HANDSHAKE_PACKET,
    RECORD_EXPIRED,
    RECORD_FAILED,
    SOCKET_SEEN,
)

SETTLES = (
    "On the server's host, and on a client that cannot connect: leadsman collect host --handshakes 9092 --out incident"
)

MODE = FailureMode(
    title="Stale neighbour entry: answers go to a dead instance's MAC",
    harm=(Harm.LOST, Harm.DELAYED, Harm.STALLED),
    headline=(
        (
            "Stale neighbour entry, over by {over_at} UTC: {holders} had {whose} for {abouts}",
            "Stale neighbour entry: {having} {whose} for {abouts}",
            "Duplicate address: {duplicate} is on {duplicates}",
            "{clients_hit:count client|clients} cannot connect, a stale neighbour entry is not shown",
            "{log_only:count client|clients} could not connect: {unroutable} leads nowhere from another host",
            "{log_only:count client|clients} could not connect, a stale neighbour entry is not shown",
        ),
    ),
    impact=(
        (
            "{clients_hit:count client|clients} had no connection to {servers_hit:count server|servers} until between "
            "{last_failed} and {over_at} UTC; records for the partitions that {these_lead} waited, or expired.",
            "{clients_hit:count client has|clients have} no connection to {servers_hit:count server|servers}; records "
            "for the partitions that {these_lead} wait, and expire.",
        ),
        (
            "By {over_at} UTC {over_by}.",
            "It lasts until the entry is removed: it is {permanent}, so the kernel never checks it.",
            "It lasts as long as something confirms the entry for {abouts}: the network's own answer to ARP or "
            "NDP, or another TCP flow from there.",
        ),
    ),
    do_now=(
        (
            "It is over: by {over_at} UTC {over_by}. There is nothing to repair on {holders}.",
            "{repairs}. The next packet asks the network anew.",
            "Look again on {holders} (ip neigh show {about}): {over_but_told}.",
        ),
        "The same wrong entry is where no connection was seen to fail. Remove it there, too. {elsewhere}.",
        "The entry is {permanent}: somebody set it. Find what sets it on {holders} (ip neigh ... nud permanent in a "
        "boot script, netplan, cloud-init), or it comes back.",
        (
            "Prevent the next one, on {ended_on} and hosts like {such}: gc_thresh1 = 0 (see Cure).",
            "Then prevent the next one, on {repaired_on} and hosts like {such}: leadsman remedy stale_neighbour "
            "{about} --mac {actual}",
        ),
        "Restarting the clients does not help: the wrong entry is in the kernel of {still_on}.",
    ),
    summary=(
        "{clients_hit:count client|clients} {cannot} connect to {servers_hit:count server|servers}.",
        "{belief}; {truth}.",
        "{others_reach:count other client is|other clients are} connected to the same port of {same_server}.",
        "{reaches:count other server is|other servers are} reached by {same_client} on the same port.",
        "The instance that has the address now was launched at {launched} UTC.",
    ),
    unsettled=(
        (
            "{log_only:count client|clients} could not connect ({timeouts:count time-out|time-outs} in the logs). They "
            "try {unroutable}: Docker's default bridge, loopback or link-local, which leads nowhere from another host. "
            "Compare advertised.listeners of the brokers first.",
            "{log_only:count client|clients} could not connect ({timeouts:count time-out|time-outs} in the logs). A "
            "log reads alike for a stale neighbour entry, a firewall, a full queue and an address that leads nowhere. "
            "The server's sockets and both MACs, read while it fails, tell them apart.",
        ),
        (
            "Sockets of {sockets_untied:count host|hosts} were listed from {sockets_from} to {sockets_until} UTC "
            "and show none of these clients' connections opening; the time-outs are of {failed_from} to {failed_until} "
            "UTC."
        ),
        (
            "Duplicate address: {duplicate} is on the interfaces of {duplicates}. {clients_hit:count client|clients} "
            "cannot connect to {servers_hit:count server|servers}.",
            "{clients_hit:count client|clients} cannot connect to {servers_hit:count server|servers}. {holder} "
            "has {believed} for {about}, and {about} has {actual} ({actual_by}); nothing shows that the server "
            "answered.",
            "{clients_hit:count client|clients} cannot connect to {servers_hit:count server|servers}. {holder} has "
            "{innocent} for {about}, which differs from {actual}, but this MAC belongs to somebody who is alive.",
            "{clients_hit:count client|clients} cannot connect to {servers_hit:count server|servers}. {held}; "
            "{held_by_others}. {held_before}. Nothing that was read shows whose these MACs are.",
            "{clients_hit:count client|clients} cannot connect to {servers_hit:count server|servers}. {held}; "
            "{held_by_others}. Nothing that was read shows whose these MACs are.",
            "{clients_hit:count client|clients} cannot connect to {servers_hit:count server|servers}. {held}. Nothing "
            "that was read shows whose MAC this is.",
            "{clients_hit:count client|clients} cannot connect to {servers_hit:count server|servers}. {about} has "
            "{actual} ({actual_by}). Which MAC the other side had for it, nothing that was read shows.",
            "{clients_hit:count client|clients} cannot connect to {servers_hit:count server|servers}, and no MAC that "
            "was read says why.",
        ),
    ),
    absent="No connection fails because of a neighbour entry: none fails, or the MAC is right, or the server had no "
    "half-open connection of the client, or nobody answered for the address, or its broker was fenced meanwhile.",
    blind="No client's log, list of sockets or packets was read: a failing connection could not have been seen.",
    next="On a host that still holds the wrong entry: leadsman remedy stale_neighbour ADDRESS --mac TRUE_MAC",
    chain=(
        Link(
            id="reused",
            claim="The address belonged to another instance before.",
            observed=(
                "The inventories name {owners:count owner|owners} of it, one after the other.",
                "The present one was launched at {launched} UTC.",
            ),
            contradicted="The address has had one owner only.",
            not_visible=(
                (
                    "The inventory that was read ({inventory:count address|addresses}) names no earlier owner of it.",
                    "An inventory was read ({inventory_untied:count address|addresses}), but no client's log says "
                    "which address is its own.",
                    "No inventory in this capture shows who had the address before.",
                ),
            ),
            settled_by="aws ec2 describe-network-interfaces > incident/interfaces.json",
            required=False,
        ),
        Link(
            id="kept",
            claim="The kernel deletes no entry: it holds fewer than gc_thresh1.",
            observed=(
                "gc_thresh1 is {threshold:count}.",
                (
                    "The neighbour table holds {entries:count entry|entries}.",
                    "The tables that were read hold {table_rows:count entry|entries} at most.",
                ),
            ),
            contradicted=(
                (
                    "The entry is {permanent}: the kernel never deletes such an entry, whatever gc_thresh1 is.",
                    "gc_thresh1 is {threshold:count}, so the kernel deletes entries that nobody uses. An entry that "
                    "traffic keeps in use stays.",
                ),
            ),
            not_visible=(
                (
                    "Of {other_family:count pair|pairs} of client and server, gc_thresh1 was read for the other "
                    "address family only.",
                    "gc_thresh1 was read on {limits_elsewhere:count host|hosts}; nothing shows that one of them holds "
                    "a wrong entry.",
                    "No kernel setting (gc_thresh1) was read.",
                ),
            ),
            settled_by=SETTLES,
            required=False,
        ),
        Link(
            id="wrong_mac",
            claim="One host's neighbour entry has a wrong MAC for the other: nobody's who is alive.",
            observed=(
                "{belief}; {truth}.",
                (
                    "{wrong_answers:count pair|pairs} of client and server: the SYN came from one MAC, and the SYN-ACK "
                    "was sent to another."
                ),
            ),
            contradicted=(
                "The entry has the address's own MAC, another link of the same host, or a virtual MAC; or the answer "
                "goes through a router; or nobody answered for the address, and there is no MAC."
            ),
            not_visible=(
                (
                    "{duplicate} is on the interfaces of {duplicates}: both MACs are live ones.",
                    "{holder} has {innocent} for {about}, and a live host, other addresses or working connections have "
                    "that MAC too: a router or another host, no dead instance.",
                    "{held}; {held_by_others}. {held_before}: it may be a former owner's. Missing: which of these MACs "
                    "the host has (`ip address` there, or the inventory).",
                    "{held}; {held_by_others}. Missing: which of these MACs the host has (`ip address` there, or the "
                    "inventory).",
                    "{held}. Missing: which MAC the host has (`ip address` there, or the inventory).",
                    "{about} has {actual}, {actual_by}. Missing, from the time of the failing connections: which MAC "
                    "the other side had for it (`ip neigh` there, or packets with MACs).",
                    "Neighbour tables of {tables_untied:count host|hosts} were read from {tables_from} to "
                    "{tables_until} UTC; nothing ties an entry to the time-outs of {failed_from} to {failed_until} "
                    "UTC. Missing, from that time: the server's entry for the client, and the client's own MAC.",
                    "Missing, from the time of the failing connections: the server's entry for the client (`ip neigh`) "
                    "and the client's own MAC (`ip address`, or the inventory); or packets with MACs at the server.",
                ),
            ),
            settled_by=SETTLES,
        ),
        Link(
            id="unanswered",
            claim="The server answers, and the answer does not arrive; or the request does not.",
            observed=(
                "{received:count connection is|connections are} half open at the server (SYN-RECV).",
                "{sent_alone:count connection stays|connections stay} SYN-SENT at the client.",
                "{both_ends:count of them is|of them are} SYN-SENT at the client with the same ports.",
                "The server sent {answers_repeated:count connection|connections} a SYN-ACK again and again.",
                "{stale_at_client:count client sends|clients send} to a MAC that is not the server's.",
            ),
            contradicted=(
                "The server's sockets were listed meanwhile, with no half-open connection of the client; or the server "
                "answered with a reset."
            ),
            not_visible=(
                (
                    "Sockets of {sockets_untied:count host|hosts} were listed from {sockets_from} to {sockets_until} "
                    "UTC, and show none of these clients' connections opening.",
                    "The server's sockets were not listed while the client was trying to connect.",
                ),
            ),
            settled_by=SETTLES,
        ),
        Link(
            id="failed",
            claim="The client's connections to the server fail to open.",
            observed=(
                "{clients_hit:count client|clients} {cannot} connect to {servers_hit:count server|servers}.",
                "By the clients' own logs, {timeouts:count attempt|attempts} to connect failed or timed out.",
                "By the clients' own logs, {expired:count record|records} expired or failed.",
                "{others_reach:count other client is|other clients are} connected to the same port of {same_server}.",
            ),
            contradicted="The client is connected.",
            not_visible="No log, socket or packet shows whether the client connects.",
            settled_by=SETTLES,
        ),
    ),
    rivals=RIVALS,
    cure=(
        Cure(
            title="Where an entry has a wrong MAC: have the host forget the address, which heals",
            why=(
                "Only on a host whose entry (ip neigh show ADDRESS) is not the MAC that the address has. The next "
                "packet asks the network anew. Measured: connections come about 0.2 to 1.7 s later."
            ),
            settings="ip neigh del ADDRESS dev DEVICE",
            measured="{repairs}",
        ),
        Cure(
            title="Where a stale entry was the cause: let the kernel delete unused entries, which prevents",
            why=(
                "With 0 an entry that nobody used for a minute is collected, however few there are. It does not end a "
                "running incident: a client that keeps trying keeps the wrong entry in use. It deletes no PERMANENT "
                "entry."
            ),
            settings=(
                "# /etc/sysctl.d/60-neighbours.conf\n"
                "net.ipv4.neigh.default.gc_thresh1 = 0\n"
                "net.ipv6.neigh.default.gc_thresh1 = 0"
            ),
        ),
        Cure(
            title="Then on every host that lives long",
            why="Brokers are not special: databases and caches that outlive their clients' addresses suffer as well.",
        ),
    ),
    explains=(BOOTSTRAP_FAILED, CONNECTION_SETUP_TIMED_OUT, RECORD_EXPIRED, RECORD_FAILED),
    layer=Layer.HOST,
    signs=(CONNECTION_SETUP_TIMED_OUT, SOCKET_SEEN, HANDSHAKE_PACKET),
    symptom_sources=(
        "java_client",
        "librdkafka",
        "kafka_python",
        "aiokafka",
        "sarama",
        "kafkajs",
        "franz_go",
        "application",
        "sockets",
        "packets",
    ),  # fmt: skip - a list of names
    matrix=Axes("Who reaches whom", row="client", column="server"),
    story=(
        "Instances of an autoscaled service could not reach some brokers, at random, until they were replaced.",
        "The clients said that records had expired. The brokers logged nothing, and others reached the same brokers.",
        "A client sat in SYN_SENT; the broker had seen it, answered, and waited in SYN_RECV: the answer never arrived.",
        "It went to the MAC of an instance that was long dead, whose address the client had been given.",
        "gc_thresh1=0 on the brokers ended it. Later the same was found on Cassandra's hosts.",
    ),
)
