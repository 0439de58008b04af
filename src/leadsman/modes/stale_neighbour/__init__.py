"""Stale neighbour entry: a host keeps the MAC of a dead instance for an address that another instance has now."""

from leadsman.model import ChartWords, Cure, FailureMode, Harm, Layer, Link, MatrixAxes
from leadsman.modes.stale_neighbour.alternatives import ALTERNATIVES
from leadsman.vocabulary import (
    BOOTSTRAP_FAILED,
    CONNECTION_SETUP_TIMED_OUT,
    HANDSHAKE_PACKET,
    RECORD_EXPIRED,
    RECORD_FAILED,
    SOCKET_SEEN,
)

COLLECT_HANDSHAKES = (
    "On the server's host, and on a client that cannot connect: leadsman collect host --handshakes 9092 --out incident"
)

AFTER_DELETION = (
    "With the next packet the kernel requests the MAC from the network. Measured: connections open 0.2 to 1.7 s later."
)
PREVENT = (
    "set net.ipv4.neigh.default.gc_thresh1 and net.ipv6.neigh.default.gc_thresh1 to 0 in "
    "/etc/sysctl.d/60-leadsman.conf, then run `sysctl --system`."
)

MODE = FailureMode(
    title="Stale neighbour entry: answers sent to dead instance's MAC",
    what_happens=(
        "A broker's neighbour table keeps the MAC of a dead instance. The broker's SYN-ACKs never reach the new "
        "instance at that address."
    ),
    harm=(Harm.LOST, Harm.DELAYED, Harm.STALLED),
    headline=(
        (
            "Stale neighbour entry, over by {ended_at} UTC: {holders} had {mac_description} for {entry_addresses}",
            "Stale neighbour entry: {holders_have} {mac_description} for {entry_addresses}",
            "Duplicate address: {duplicate} is on {duplicates}",
            "{clients_hit:count client|clients} cannot connect, no stale neighbour entry shown",
            "{log_only:count client|clients} could not connect: unroutable address {unroutable}",
            "{log_only:count client|clients} could not connect, no stale neighbour entry shown",
        ),
    ),
    impact=(
        (
            "{clients_hit:count client|clients} had no connection to {servers_hit:count server|servers} until between "
            "{last_failed} and {ended_at} UTC; requests to {those_servers} waited and failed.",
            "{clients_hit:count client has|clients have} no connection to {servers_hit:count server|servers}; requests "
            "to {those_servers} wait and fail.",
        ),
        "The clients logged {expired:count line|lines} about records that expired or failed.",
        (
            "By {ended_at} UTC {ended_how}.",
            "The failure lasts until the entry is deleted: the entry is {permanent}, so the kernel never checks it.",
            "The failure lasts as long as the entry for {entry_addresses} is confirmed: by the network's own ARP or "
            "NDP answers, or by another TCP flow from that address.",
        ),
    ),
    do_now=(
        (
            "The failure is over: by {ended_at} UTC {ended_how}. {holders} need no repair.",
            "Run as root, {remedy_commands}. The command deletes the entry, then sets gc_thresh1 to 0. Where leadsman "
            "is not installed: {delete_examples}. With the next packet the kernel requests the MAC from the network "
            "again.",
            "Run as root, {repair_commands}. With the next packet the kernel requests the MAC from the network again.",
            "Check {holders} again (ip neigh show {entry_address}): {logs_fail_after_end}.",
        ),
        "Other hosts have the same wrong entry without a failed connection so far. Delete it there too, as root, "
        "{other_repair_commands}.",
        "The entry is {permanent}: it was set by a command. Find that command on {holders} (ip neigh ... nud permanent "
        "in a boot script, netplan, cloud-init), or the entry returns.",
        (
            "Prevent the next failure on {ended_hosts} and on every other long-lived host of their subnet: " + PREVENT,
            "Prevent the next failure on every other long-lived host in the subnet of {repaired_hosts}: " + PREVENT,
        ),
        "Do not restart the clients: a restart does not help, because the wrong entry is in the kernel of "
        "{affected_hosts}.",
    ),
    summary=(
        "{clients_hit:count client|clients} {cannot} connect to {servers_hit:count server|servers}.",
        "{wrong_entry_text}; {true_mac_text}.",
        (
            "{other_clients_connected:count other client is|other clients are} connected to the same port of "
            "{same_server}."
        ),
        "{other_servers_reached:count other server is|other servers are} reached by {same_client} on the same port.",
        "The instance that has the address now was launched at {launched} UTC.",
    ),
    unknown=(
        (
            "{log_only:count client|clients} could not connect ({timeouts:count timeout|timeouts} in the logs). They "
            "connect to {unroutable}: Docker's default bridge, loopback or link-local, which cannot be reached from "
            "another host. Check advertised.listeners of the brokers first.",
            "{log_only:count client|clients} could not connect ({timeouts:count timeout|timeouts} in the logs). The "
            "logs look the same for a stale neighbour entry, a firewall, a full accept queue and an unreachable "
            "address. The server's sockets and the MACs of both sides, collected during the failure, distinguish them.",
        ),
        (
            "Sockets of {sockets_unrelated:count host|hosts} were listed from {sockets_from} to {sockets_until} UTC "
            "and show no opening connections of these clients; the timeouts are from {failed_from} to {failed_until} "
            "UTC."
        ),
        (
            "Duplicate address: {duplicate} is on the interfaces of {duplicates}. {clients_hit:count client|clients} "
            "cannot connect to {servers_hit:count server|servers}.",
            "{clients_hit:count client|clients} cannot connect to {servers_hit:count server|servers}. {holder} "
            "has {entry_mac} for {entry_address}, and {entry_address} has {true_mac} ({true_mac_source}); the capture "
            "does not show that the server answered.",
            "{clients_hit:count client|clients} cannot connect to {servers_hit:count server|servers}. {holder} has "
            "{live_mac} for {entry_address}, which differs from {true_mac}, but this MAC belongs to a live host.",
            "{clients_hit:count client|clients} cannot connect to {servers_hit:count server|servers}. "
            "{unverified_entry}; {unverified_entry_elsewhere}. {earlier_entry}. The capture does not show which hosts "
            "have these MACs.",
            "{clients_hit:count client|clients} cannot connect to {servers_hit:count server|servers}. "
            "{unverified_entry}; {unverified_entry_elsewhere}. The capture does not show which hosts have these MACs.",
            "{clients_hit:count client|clients} cannot connect to {servers_hit:count server|servers}. "
            "{unverified_entry}. The capture does not show which host has this MAC.",
            "{clients_hit:count client|clients} cannot connect to {servers_hit:count server|servers}. {entry_address} "
            "has {true_mac} ({true_mac_source}). The capture does not show which MAC the other side had for it.",
            "{clients_hit:count client|clients} cannot connect to {servers_hit:count server|servers}, and no MAC in "
            "the capture shows the cause.",
        ),
    ),
    absent="No connection fails because of a neighbour entry: no connection fails, or the MAC is right, or the server "
    "had no half-open connection of the client, or the address did not answer, or its broker was fenced at that time.",
    no_source=(
        "The capture holds no client log, no list of sockets and no packets, so a failing connection would not be "
        "visible."
    ),
    next=(
        (
            "On a host that still has the wrong entry: leadsman remedy stale_neighbour {entry_address} --mac "
            "{true_mac}",
            "On a host that still has the wrong entry: leadsman remedy stale_neighbour ADDRESS --mac TRUE_MAC",
        ),
    ),
    chain=(
        Link(
            id="reused",
            claim="The address belonged to another instance before.",
            observed=(
                "The inventories show {owners:count owner|owners} of the address, one after the other.",
                "The present owner was launched at {launched} UTC.",
            ),
            contradicted="The address has had only one owner.",
            not_visible=(
                (
                    "The inventory ({inventory:count address|addresses}) shows no earlier owner of the address.",
                    "An inventory was read ({inventory_unrelated:count address|addresses}), but no client's log shows "
                    "the client's own address.",
                    "The capture holds no inventory with earlier owners of the address.",
                ),
            ),
            collect_command="aws ec2 describe-network-interfaces > incident/interfaces.json",
            required=False,
        ),
        Link(
            id="never_deleted",
            claim="The kernel deletes no entry, because the table has fewer entries than gc_thresh1.",
            observed=(
                "gc_thresh1 is {threshold:count}.",
                (
                    "The neighbour table has {entries:count entry|entries}.",
                    "The neighbour tables have at most {table_rows:count entry|entries}.",
                ),
            ),
            contradicted=(
                (
                    "The entry is {permanent}: the kernel never deletes such an entry, whatever gc_thresh1 is.",
                    "gc_thresh1 is {threshold:count}, so the kernel deletes unused entries. An entry that traffic uses "
                    "stays.",
                ),
            ),
            not_visible=(
                (
                    "For {other_family:count pair|pairs} of client and server, gc_thresh1 was read only for the other "
                    "address family.",
                    "gc_thresh1 was read on {limits_on_other_hosts:count host|hosts}; the capture does not show that "
                    "one of them has a wrong entry.",
                    "The capture holds no kernel setting gc_thresh1.",
                ),
            ),
            collect_command=COLLECT_HANDSHAKES,
            required=False,
        ),
        Link(
            id="wrong_mac",
            claim="One host's neighbour entry has a wrong MAC for the other host, and no live host has this MAC.",
            observed=(
                "{wrong_entry_text}; {true_mac_text}.",
                (
                    "For {wrong_answers:count pair|pairs} of client and server, the SYN came from one MAC and the "
                    "SYN-ACK was sent to another MAC."
                ),
            ),
            contradicted=(
                "The entry has the address's own MAC, the MAC of another link of the same host, or a virtual MAC; or "
                "the answer goes through a router; or the address did not answer, so the entry has no MAC."
            ),
            not_visible=(
                (
                    "{duplicate} is on the interfaces of {duplicates}: both MACs belong to live hosts.",
                    "{holder} has {live_mac} for {entry_address}, and a live host, other addresses or working "
                    "connections have that MAC too: it belongs to a router or another host, not to a dead instance.",
                    "{unverified_entry}; {unverified_entry_elsewhere}. {earlier_entry}: it may be a former owner's. "
                    "Missing: which of these MACs the host has (`ip address` there, or the inventory).",
                    "{unverified_entry}; {unverified_entry_elsewhere}. Missing: which of these MACs the host has (`ip "
                    "address` there, or the inventory).",
                    "{unverified_entry}. Missing: which MAC the host has (`ip address` there, or the inventory).",
                    "{entry_address} has {true_mac}, {true_mac_source}. Missing, from the time of the failing "
                    "connections: which MAC the other side had for it (`ip neigh` there, or packets with MACs).",
                    "Neighbour tables of {tables_unrelated:count host|hosts} were read from {tables_from} to "
                    "{tables_until} UTC; no entry belongs to the timeouts from {failed_from} to {failed_until} UTC. "
                    "Missing, from that time: the server's entry for the client, and the client's own MAC.",
                    "Missing, from the time of the failing connections: the server's entry for the client (`ip neigh`) "
                    "and the client's own MAC (`ip address`, or the inventory); or packets with MACs at the server.",
                ),
            ),
            collect_command=COLLECT_HANDSHAKES,
        ),
        Link(
            id="unanswered",
            claim="The server's SYN-ACK does not reach the client, or the client's SYN does not reach the server.",
            observed=(
                "{syn_recv_count:count connection is|connections are} half open at the server (SYN-RECV).",
                "{syn_sent_only:count connection stays|connections stay} in SYN-SENT at the client.",
                "{both_ends:count of them is|of them are} in SYN-SENT at the client with the same ports.",
                (
                    "The server sent the SYN-ACK of {syn_acks_repeated:count connection|connections} several times: no "
                    "ACK came."
                ),
                "{stale_at_client:count client sends|clients send} to a MAC that is not the server's.",
            ),
            contradicted=(
                "The server's sockets were listed meanwhile and show no half-open connection of the client; or the "
                "server answered with a reset."
            ),
            not_visible=(
                (
                    "Sockets of {sockets_unrelated:count host|hosts} were listed from {sockets_from} to "
                    "{sockets_until} UTC and show no opening connections of these clients.",
                    "The server's sockets were not listed while the client was trying to connect.",
                ),
            ),
            collect_command=COLLECT_HANDSHAKES,
        ),
        Link(
            id="failed",
            claim="The client's connections to the server fail to open.",
            observed=(
                "{clients_hit:count client|clients} {cannot} connect to {servers_hit:count server|servers}.",
                (
                    "By the clients' own logs, {timeouts:count connection attempt|connection attempts} failed or timed "
                    "out."
                ),
                "The clients logged {expired:count line|lines} about records that expired or failed.",
                (
                    "{other_clients_connected:count other client is|other clients are} connected to the same port of "
                    "{same_server}."
                ),
            ),
            contradicted="The client is connected.",
            not_visible="No log, socket or packet shows whether the client connects.",
            collect_command=COLLECT_HANDSHAKES,
        ),
    ),
    alternatives=ALTERNATIVES,
    cure=(
        Cure(
            title="If an entry has a wrong MAC: delete it now",
            why=(
                "Do this as root on each host whose entry (ip neigh show ADDRESS) differs from the address's true MAC. "
                + AFTER_DELETION
            ),
            measured_why="As root, delete {wrong_entry_places}. " + AFTER_DELETION,
            settings="ip neigh del ADDRESS dev DEVICE",
            measured_settings="{delete_commands}",
        ),
        Cure(
            title="Prevent the next failure: let the kernel delete unused entries",
            why=(
                "With gc_thresh1 = 0 the kernel deletes an entry that was unused for a minute (gc_stale_time), even in "
                "a small table. This setting does not end a running incident: a client that keeps trying keeps the "
                "wrong entry in use. The kernel deletes no PERMANENT entry."
            ),
            settings=(
                "# /etc/sysctl.d/60-leadsman.conf\n"
                "net.ipv4.neigh.default.gc_thresh1 = 0\n"
                "net.ipv6.neigh.default.gc_thresh1 = 0"
            ),
        ),
        Cure(
            title="Apply the setting on every long-lived host",
            why=(
                "Brokers are not special: databases and caches that outlive their clients' addresses are affected too."
            ),
        ),
    ),
    explains=(BOOTSTRAP_FAILED, CONNECTION_SETUP_TIMED_OUT, RECORD_EXPIRED, RECORD_FAILED),
    layer=Layer.HOST,
    trigger_events=(CONNECTION_SETUP_TIMED_OUT, SOCKET_SEEN, HANDSHAKE_PACKET),
    symptom_events=(CONNECTION_SETUP_TIMED_OUT, HANDSHAKE_PACKET, RECORD_FAILED, SOCKET_SEEN),
    matrix=MatrixAxes("Who reaches whom", row="client", column="server"),
    chart_words=ChartWords(instants={"unanswered": "first unanswered connection attempt to a server"}),
    story=(
        "Instances of an autoscaled service could not reach some brokers, at random, until they were replaced.",
        "The clients logged expired records. The brokers logged nothing, and other clients reached the same brokers.",
        "A client waited in SYN_SENT; the broker had answered and waited in SYN_RECV: the SYN-ACK never arrived.",
        "The SYN-ACK went to the MAC of a dead instance, whose former address the client now had.",
        "gc_thresh1=0 on the brokers ended the failures. Later the same failure was found on Cassandra hosts.",
    ),
)
