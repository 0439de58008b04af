"""A host that answers to the MAC of a dead instance, whose address another one has now."""

from leadsman.model import Axes, Cure, FailureMode, Harm, Layer, Link, Rival
from leadsman.vocabulary import (
    CONNECTION_SETUP_TIMED_OUT,
    HANDSHAKE_PACKET,
    RECORD_EXPIRED,
    RECORD_FAILED,
    SOCKET_SEEN,
)

SETTLES = "leadsman collect host --handshakes 9092 --out incident"

MODE = FailureMode(
    title="Answers go to the MAC of a dead instance, whose address somebody else has now",
    harm=(Harm.LOST, Harm.DELAYED, Harm.STALLED),
    summary=(
        (
            "{pairs:count client cannot|pairs of client and server cannot} connect: {holder} sends what is for "
            "{about} to "
            "{believed}, and {about} has {actual} ({actual_by})."
        ),
        "{others_reach:count other client reaches|other clients reach} the same port.",
        "{reaches:count other server is|other servers are} reached by the same client on the same port.",
        "The address was given to a new instance at {launched} UTC.",
    ),
    unsettled=(
        (
            "{log_only:count worker|workers} could not connect ({timeouts:count time-out|time-outs} in the "
            "logs). The logs of a "
            "stale neighbour, a firewall and a full queue read alike: what decides is a MAC."
        ),
        "{pairs:count connection does|connections do} not come about, and no MAC in this capture says why.",
    ),
    absent="Nobody knocks in vain at an address whose MAC is mistaken.",
    blind="No log of a client, no list of sockets and no packets are in this capture: nobody could be seen knocking.",
    next="On the host that holds the wrong entry: leadsman remedy stale_neighbour ADDRESS --mac TRUE_MAC",
    chain=(
        Link(
            id="reused",
            claim="The address belonged to another instance before.",
            observed=(
                "The inventories name {owners:count owner|owners} of it, one after the other.",
                "The present one was launched at {launched} UTC.",
            ),
            contradicted="The address has had one owner only.",
            not_visible="No inventory in this capture shows who had the address before.",
            settled_by="aws ec2 describe-network-interfaces > incident/interfaces.json",
            required=False,
        ),
        Link(
            id="kept",
            claim="The kernel forgets no neighbour: it knows fewer than gc_thresh1.",
            observed=(
                "gc_thresh1 is {threshold:count}.",
                "The kernel knows {entries:count neighbour|neighbours}.",
            ),
            contradicted=(
                (
                    "gc_thresh1 is {threshold:count}, so unused entries are collected. One that traffic keeps in use "
                    "is not."
                ),
            ),
            not_visible="No kernel setting of the server is in this capture.",
            settled_by=SETTLES,
            required=False,
        ),
        Link(
            id="wrong_mac",
            claim="One host has another MAC for the other's address than that has.",
            observed=(
                "{holder} has {believed} for {about}; it is {actual}, {actual_by}.",
                (
                    "{wrong_answers:count pair shows|pairs show} it in the packets: asked from one MAC, answered to "
                    "another."
                ),
            ),
            contradicted="The MACs agree, or the answer goes through a router: it is no matter of neighbours.",
            not_visible=(
                (
                    "Wanted: the server's entry for the client (`ip -s neigh`), and the client's own MAC (`ip "
                    "address`) or the "
                    "inventory; or packets with MACs at the server."
                ),
            ),
            settled_by=SETTLES,
        ),
        Link(
            id="unanswered",
            claim="The server answers, and the answer does not arrive.",
            observed=(
                "{received:count connection is|connections are} half open at the server (SYN-RECV).",
                "{both_ends:count of them is|of them are} SYN-SENT at the client with the same ports.",
                "{answers_repeated:count SYN-ACK was|SYN-ACKs were} sent again and again.",
                "{stale_at_client:count client sends|clients send} to a MAC that is not the server's.",
            ),
            contradicted="The server was looked at and had no half-open connection of the client, or it refused.",
            not_visible="The server's sockets were not looked at while the client was knocking.",
            settled_by=SETTLES,
        ),
        Link(
            id="failed",
            claim="The client cannot connect to this server, while others can.",
            observed=(
                "{clients_hit:count client knocks|clients knock} in vain at {servers_hit:count server|servers}.",
                "{timeouts:count connection|connections} timed out by the client's own log.",
                "{expired:count record was|records were} given up.",
                "{others_reach:count other client is|other clients are} connected to the same port.",
            ),
            contradicted="Connections come about.",
            not_visible="No log, socket or packet shows whether the client connects.",
            settled_by=SETTLES,
        ),
    ),
    rivals=(
        Rival(
            id="broker_down",
            cause="The server was down, or refused",
            ruled_out="The server's kernel took the connection up: it is half open there.",
            stands="Connections were answered with a reset.",
            not_visible="Not ruled out: the server's sockets are not in this capture.",
        ),
        Rival(
            id="firewall",
            cause="A firewall or security group drops the client's packets on their way in",
            ruled_out="They arrived: the connection is half open at the server.",
            stands="The server was looked at meanwhile and had heard nothing of the client.",
            not_visible="Not ruled out: the server's sockets are not in this capture.",
        ),
        Rival(
            id="reply_dropped",
            cause="An access list drops the answer on its way back",
            ruled_out="The answer was sent to a MAC that is not the client's: it could not arrive.",
            stands="The answer was sent, and to the right MAC.",
            not_visible="Not ruled out: sockets look the same, and no MAC is in this capture.",
        ),
        Rival(
            id="queue_full",
            cause="The server's queue of new connections is full",
            ruled_out="The server took the connection up: with a full queue it would have dropped it.",
            stands="{full:count listener has|listeners have} more connections waiting than it takes.",
            not_visible="Not ruled out: no list of listeners is in this capture.",
        ),
        Rival(
            id="other_route",
            cause="The answer takes another route, through a router that drops it",
            ruled_out="The server has an entry for the client itself: it sends to it directly.",
            stands="The server has no entry for the client: it sends through a router.",
            not_visible="Not ruled out: no neighbour table of the server is in this capture.",
        ),
        Rival(
            id="wrong_address",
            cause="The client knocks at an address that is no server's any more",
            ruled_out="The address is the server's.",
            stands="Nobody is known at that address.",
            not_visible="Not ruled out: the server itself is not in this capture.",
        ),
    ),
    cure=(
        Cure(
            title="Make the host forget the address: this heals",
            why="The next packet asks the network anew. Measured: connections come about 0.2 to 1.7 s later.",
            settings="ip neigh del ADDRESS dev DEVICE",
        ),
        Cure(
            title="Let the kernel forget unused neighbours: this prevents",
            why=(
                "With 0 an entry that nobody used for a minute is collected, however few there are. It does not end a "
                "running incident: a client that keeps trying keeps the wrong entry in use."
            ),
            settings=(
                "# /etc/sysctl.d/60-neighbours.conf\n"
                "net.ipv4.neigh.default.gc_thresh1 = 0\n"
                "net.ipv6.neigh.default.gc_thresh1 = 0"
            ),
        ),
        Cure(
            title="Do it on every host that lives long",
            why="Brokers are not special: databases and caches that outlive their clients' addresses suffer as well.",
        ),
    ),
    explains=(CONNECTION_SETUP_TIMED_OUT, RECORD_EXPIRED, RECORD_FAILED),
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
