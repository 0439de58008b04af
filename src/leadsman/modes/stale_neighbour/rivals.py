"""The other causes of the same symptom: what is said of each, and what speaks for it or against it."""

from __future__ import annotations

from leadsman.model import Rival

RIVALS = (
    Rival(
        id="refused",
        cause="The server refused: nothing listens on the port",
        ruled_out=(
            (
                "{received:count connection is|connections are} half open at the server (SYN-RECV).",
                "The server sent SYN-ACKs ({answers_repeated:count connection|connections}).",
                (
                    "All {all_timed_out:count attempt|attempts} in the clients' logs timed out or found no host; none "
                    "was refused."
                ),
            ),
        ),
        stands=(
            (
                "By the clients' logs, {refusals:count attempt was|attempts were} refused or could not be made.",
                "Connections were answered with a reset.",
            ),
        ),
        not_visible="Neither a log of the client nor a list of the server's sockets decides it.",
    ),
    Rival(
        id="broker_down",
        cause="The server was down, or stood still",
        ruled_out=(
            (
                "{received:count connection is|connections are} half open at the server (SYN-RECV).",
                "The server sent SYN-ACKs ({answers_repeated:count connection|connections}).",
                "It was listening meanwhile, and {others_reach:count other client is|other clients are} connected.",
                "Its sockets were listed meanwhile, and it was listening.",
            ),
        ),
        stands="The controller had fenced it.",
        not_visible="The server's sockets at that time were not read.",
    ),
    Rival(
        id="unroutable",
        cause="The brokers advertise an address that clients cannot reach (advertised.listeners)",
        ruled_out=(
            (
                "The packets arrived: {received:count connection is|connections are} half open at the server.",
                "The packets arrived: the server sent SYN-ACKs ({answers_repeated:count connection|connections}).",
                "{others_reach:count other client is|other clients are} connected to the same address.",
            ),
        ),
        stands=(
            (
                "The clients try {unroutable}: Docker's default bridge, loopback or link-local, which leads nowhere "
                "from another host."
            ),
        ),
        not_visible="Compare advertised.listeners of the brokers with the addresses that these clients can reach.",
    ),
    Rival(
        id="firewall",
        cause="A firewall or security group drops the client's packets on their way in",
        ruled_out=(
            (
                "The packets arrived: {received:count connection is|connections are} half open at the server.",
                "The packets arrived: the server sent SYN-ACKs ({answers_repeated:count connection|connections}).",
                (
                    "{at_client_only:count client sends|clients send} to a MAC that is not the server's: no firewall "
                    "of the server sees these packets."
                ),
            ),
        ),
        stands="The server's sockets were listed meanwhile, with no half-open connection of the client.",
        not_visible="The server's sockets at that time were not read.",
    ),
    Rival(
        id="reply_dropped",
        cause="An access list drops the answer on its way back",
        ruled_out=(
            (
                (
                    "There was no answer to drop: {at_client_only:count client sends|clients send} to a MAC that is "
                    "not the server's."
                ),
                "The answer was sent to a MAC that is not the client's: it could not arrive.",
            ),
        ),
        stands="The answer was sent, and to the right MAC.",
        not_visible="Sockets look the same, and no MAC that was read decides where the answer went.",
    ),
    Rival(
        id="queue_full",
        cause="The server's queue of new connections is full",
        ruled_out=(
            (
                "The server answered the SYN ({received:count connection|connections}): with a full queue it drops it.",
                (
                    "The server answered the SYN ({answers_repeated:count connection|connections}): with a full queue "
                    "it drops it."
                ),
                (
                    "{at_client_only:count client sends|clients send} to a MAC that is not the server's: the packets "
                    "never came to its queue."
                ),
                "The queue had room when the server's sockets were listed.",
            ),
        ),
        stands="{full:count listener has|listeners have} more connections waiting than the queue holds.",
        not_visible="No list of listeners of the server at that time was read.",
    ),
    Rival(
        id="table_full",
        cause="The server's neighbour table is full, so that it cannot answer",
        ruled_out="The server has an entry for the client.",
        stands="A kernel says {table_overflows:count time|times} that its neighbour table is full.",
        not_visible="No line of a kernel says so in this capture, and no entry of the server for the client was read.",
    ),
    Rival(
        id="other_route",
        cause="The answer takes another route, through a router that drops it",
        ruled_out="The server has an entry for the client itself: it sends to it directly.",
        stands="The server has no entry for the client: it sends through a router.",
        not_visible="No neighbour table of the server at that time was read.",
    ),
    Rival(
        id="duplicate_address",
        cause="Two live hosts have the same address",
        ruled_out="One host alone was seen with the address, and nobody alive was seen with the other MAC.",
        stands=("{duplicate} is on the interfaces of {duplicates}.",),
        not_visible=(
            (
                (
                    "Of {links_read:count host|hosts} the interfaces were read, and no address of these connections is "
                    "on two. A host that was not looked at may have it, too."
                ),
                "No interfaces of a host were read.",
            ),
        ),
    ),
    Rival(
        id="innocent_mac",
        cause="The MAC that differs is a router's, or a live host's",
        ruled_out=(
            (
                (
                    "The inventory ({inventory:count address|addresses}) and the tables that were read give this MAC "
                    "to nobody who is alive."
                ),
                (
                    "None of {links_read:count host|hosts} whose interfaces were read has this MAC, and no table gives "
                    "it to several addresses, as a router's."
                ),
                "No table, inventory or interface that was read gives this MAC to anybody who is alive.",
            ),
        ),
        stands=("A live host, other addresses or working connections have {innocent} too.",),
        not_visible=(
            (
                "{held}; {held_by_others}. Nothing shows whose these MACs are.",
                "{held}. Nothing shows whose MAC this is.",
                "No MAC that differs from the right one was read.",
            ),
        ),
    ),
    Rival(
        id="wrong_address",
        cause="The client tries an address that no server has any more",
        ruled_out=(
            (
                "{others_reach:count other client is|other clients are} connected to the same address.",
                "The address is on a server that was looked at.",
            ),
        ),
        stands="No host that was looked at has the address, and nobody is connected to it.",
        not_visible=(
            (
                (
                    "Sockets of {sockets_untied:count host|hosts} were read; nothing ties them to the address that the "
                    "clients tried."
                ),
                "The server itself was not looked at.",
            ),
        ),
    ),
)


def _rival(stands: str, ruled_out: str) -> str:
    return f"CASE WHEN {stands} THEN 'observed' WHEN {ruled_out} THEN 'contradicted' END"


STATES = {
    "refused": _rival("reset > 0 OR coalesce(refusals, 0) > 0", "answered > 0 OR coalesce(all_timed_out, 0) > 0"),
    "broker_down": _rival("false", "answered > 0 OR listening > 0"),
    "unroutable": _rival("unroutable IS NOT NULL", "answered > 0 OR others_reach > 0"),
    "firewall": _rival("unheard > 0", "answered > 0 OR stale_at_client > 0"),
    "reply_dropped": _rival("lost_behind > 0", "wrong > 0"),
    "queue_full": _rival("full > 0", "answered > 0 OR stale_at_client > 0 OR queue_has_room > 0"),
    "table_full": _rival("table_overflows > 0", "entries_seen > 0"),
    "other_route": _rival("routed > 0", "entries_seen > 0"),
    "duplicate_address": _rival("duplicates IS NOT NULL", "wrong > 0 AND claimed > 0"),
    "innocent_mac": _rival("innocents > 0", "wrong > 0"),
    "wrong_address": _rival("nobody_there > 0", "servers_known > 0 OR others_reach > 0"),
}
"""By rival, over the pairs that the verdict is about: observed where it stands, contradicted where it is ruled out."""
