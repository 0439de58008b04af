"""The alternatives: other causes of the same symptoms, their texts, and the data that confirm or rule out each."""

from __future__ import annotations

from leadsman.model import Alternative

ALTERNATIVES = (
    Alternative(
        id="refused",
        cause="The server refused the connection: no process listens on the port",
        distinguished_by="the server answers with a reset",
        ruled_out=(
            (
                "{syn_recv_count:count connection is|connections are} half open at the server (SYN-RECV).",
                "The server sent SYN-ACKs ({syn_acks_repeated:count connection|connections}).",
                (
                    "All {all_timed_out:count attempt|attempts} in the clients' logs timed out or found no host; none "
                    "was refused."
                ),
            ),
        ),
        observed=(
            (
                "By the clients' logs, {refusals:count attempt was|attempts were} refused or failed at once.",
                "The server answered connections with a reset.",
            ),
        ),
        not_visible="Cannot be ruled out: neither a client log nor the server's sockets decide it.",
    ),
    Alternative(
        id="broker_down",
        cause="The server was down or frozen",
        distinguished_by="no other client was connected meanwhile",
        ruled_out=(
            (
                "{syn_recv_count:count connection is|connections are} half open at the server (SYN-RECV).",
                "The server sent SYN-ACKs ({syn_acks_repeated:count connection|connections}).",
                (
                    "The server was listening meanwhile, and {other_clients_connected:count other client is|other "
                    "clients are} connected."
                ),
                "The server was listening when its sockets were listed meanwhile.",
            ),
        ),
        observed="The controller had fenced the broker.",
        not_visible="Cannot be ruled out: the server's sockets of that time were not read.",
    ),
    Alternative(
        id="unroutable",
        cause="The brokers advertise an address that clients cannot reach (advertised.listeners)",
        ruled_out=(
            (
                "The packets arrived: {syn_recv_count:count connection is|connections are} half open at the server.",
                ("The packets arrived: the server sent SYN-ACKs ({syn_acks_repeated:count connection|connections})."),
                ("{other_clients_connected:count other client is|other clients are} connected to the same address."),
            ),
        ),
        observed=(
            (
                "The clients connect to {unroutable}: Docker's default bridge, loopback or link-local, which cannot "
                "be reached from another host."
            ),
        ),
        not_visible=(
            "Cannot be ruled out: compare advertised.listeners of the brokers with the addresses that these clients "
            "can reach."
        ),
    ),
    Alternative(
        id="firewall",
        cause="A firewall or security group drops the client's packets to the server",
        distinguished_by="the server has no SYN_RECV: the SYN does not arrive",
        ruled_out=(
            (
                "The packets arrived: {syn_recv_count:count connection is|connections are} half open at the server.",
                ("The packets arrived: the server sent SYN-ACKs ({syn_acks_repeated:count connection|connections})."),
                (
                    "{at_client_only:count client sends|clients send} to a MAC that is not the server's: these packets "
                    "do not reach a firewall of the server."
                ),
            ),
        ),
        observed="The server's sockets were listed meanwhile and show no half-open connection of the client.",
        not_visible="Cannot be ruled out: the server's sockets of that time were not read.",
    ),
    Alternative(
        id="reply_dropped",
        cause="A network ACL drops the server's answer",
        ruled_out=(
            (
                (
                    "There was no answer to drop: {at_client_only:count client sends|clients send} to a MAC that is "
                    "not the server's."
                ),
                "The answer was sent to a MAC that is not the client's, so it could not arrive.",
            ),
        ),
        observed="The answer was sent, and to the right MAC.",
        not_visible=(
            "Cannot be ruled out: the sockets look the same, and no MAC in the capture shows where the answer went."
        ),
    ),
    Alternative(
        id="queue_full",
        cause="The server's accept queue is full",
        distinguished_by="the kernel counts listen overflows",
        ruled_out=(
            (
                (
                    "The server answered the SYN ({syn_recv_count:count connection|connections}); with a full accept "
                    "queue it drops the SYN."
                ),
                (
                    "The server answered the SYN ({syn_acks_repeated:count connection|connections}); with a full "
                    "accept queue it drops the SYN."
                ),
                (
                    "{at_client_only:count client sends|clients send} to a MAC that is not the server's: the packets "
                    "did not reach its accept queue."
                ),
                "The accept queue had room when the server's sockets were listed.",
            ),
        ),
        observed=(
            "{full_queue_count:count listener has|listeners have} more waiting connections than the accept queue holds."
        ),
        not_visible="Cannot be ruled out: the server's listeners of that time were not read.",
    ),
    Alternative(
        id="table_full",
        cause="The server's neighbour table is full, so the server cannot answer",
        ruled_out="The server has a neighbour entry for the client.",
        observed="A kernel logged {table_overflows:count time|times} that its neighbour table is full.",
        not_visible=(
            "Cannot be ruled out: the capture holds no kernel log about it, and no neighbour entry of the server for "
            "the client."
        ),
    ),
    Alternative(
        id="other_route",
        cause="The answer takes another route, through a router that drops it",
        distinguished_by="the neighbour entry is right; the answer leaves through another router",
        ruled_out="The server has a neighbour entry for the client: it sends to the client directly.",
        observed="The server has no neighbour entry for the client: it sends through a router.",
        not_visible="Cannot be ruled out: the server's neighbour table of that time was not read.",
    ),
    Alternative(
        id="duplicate_address",
        cause="Two live hosts have the same address",
        ruled_out="Only one host was seen with the address, and no live host was seen with the other MAC.",
        observed=("{duplicate} is on the interfaces of {duplicates}.",),
        not_visible=(
            (
                (
                    "Cannot be ruled out: the interfaces of {links_read:count host|hosts} were read, and no address of "
                    "these connections is on two of them. Another host may have it too."
                ),
                "Cannot be ruled out: no interfaces of a host were read.",
            ),
        ),
    ),
    Alternative(
        id="innocent_mac",
        cause="The differing MAC belongs to a router or to a live host",
        ruled_out=(
            (
                (
                    "The inventory ({inventory:count address|addresses}) and the neighbour tables show no live host "
                    "with this MAC."
                ),
                (
                    "None of the {links_read:count host|hosts} whose interfaces were read has this MAC, and no table "
                    "shows it for several addresses, as for a router."
                ),
                "No neighbour table, inventory or interface shows a live host with this MAC.",
            ),
        ),
        observed=("A live host, other addresses or working connections have {live_mac} too.",),
        not_visible=(
            (
                (
                    "Cannot be ruled out: {unverified_entry}; {unverified_entry_elsewhere}. The capture does not show "
                    "which hosts have these MACs."
                ),
                "Cannot be ruled out: {unverified_entry}. The capture does not show which host has this MAC.",
                "Cannot be ruled out: the capture shows no differing MAC.",
            ),
        ),
    ),
    Alternative(
        id="wrong_address",
        cause="The client connects to an address that no server has any more",
        distinguished_by="no host has the address",
        ruled_out=(
            (
                ("{other_clients_connected:count other client is|other clients are} connected to the same address."),
                "A host in the capture has the address.",
            ),
        ),
        observed="No host in the capture has the address, and no client is connected to it.",
        not_visible=(
            (
                (
                    "Cannot be ruled out: sockets of {sockets_unrelated:count host|hosts} were read, but none shows "
                    "the address that the clients tried."
                ),
                "Cannot be ruled out: the server's own data were not read.",
            ),
        ),
    ),
)


def _state(observed: str, ruled_out: str) -> str:
    return f"CASE WHEN {observed} THEN 'observed' WHEN {ruled_out} THEN 'contradicted' END"


STATES = {
    "refused": _state("reset_count > 0 OR coalesce(refusals, 0) > 0", "answered > 0 OR coalesce(all_timed_out, 0) > 0"),
    "broker_down": _state("false", "answered > 0 OR listening > 0"),
    "unroutable": _state("unroutable IS NOT NULL", "answered > 0 OR other_clients_connected > 0"),
    "firewall": _state("no_syn_at_server > 0", "answered > 0 OR stale_at_client > 0"),
    "reply_dropped": _state("syn_ack_lost > 0", "wrong_mac_count > 0"),
    "queue_full": _state("full_queue_count > 0", "answered > 0 OR stale_at_client > 0 OR queue_has_room > 0"),
    "table_full": _state("table_overflows > 0", "entries_seen > 0"),
    "other_route": _state("answered_via_router > 0", "entries_seen > 0"),
    "duplicate_address": _state("duplicates IS NOT NULL", "wrong_mac_count > 0 AND claimed > 0"),
    "innocent_mac": _state("live_mac_count > 0", "wrong_mac_count > 0"),
    "wrong_address": _state("address_unused > 0", "servers_known > 0 OR other_clients_connected > 0"),
}
"""The SQL for the state of each alternative, over the pairs that decide the verdict."""
