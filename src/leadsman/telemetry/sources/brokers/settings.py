r"""Settings: dumps that clients and brokers print at their start, and properties files.

Only times, and the settings listed in NUMBERS and SWITCHES, are read: none of them can be a secret.
The format `properties` hands a properties file over as lines of a dump whose first line is `<owner> properties`.
"""

from __future__ import annotations

from leadsman import vocabulary as v
from leadsman.telemetry.source import Signature, Source

OWNERS = {
    "ProducerConfig values": {"owner": "producer"},
    "ConsumerConfig values": {"owner": "consumer"},
    "AdminClientConfig values": {"owner": "admin"},
    "StreamsConfig values": {"owner": "streams"},
    "KafkaConfig values": {"owner": "broker"},
    "Producer of ": {"owner": "producer"},  # programs that print dumps like those of Java clients
    "Consumer of ": {"owner": "consumer"},
    "broker properties": {"owner": "broker"},
    "producer properties": {"owner": "producer"},
    "consumer properties": {"owner": "consumer"},
    "client properties": {"owner": "client"},
}
NAME = r"[a-z0-9.]{0,80}[a-z0-9]"  # bounded, or an overlong word would take too long
TAB = r"\\t"  # as JSON writes it
NUMBERS = (
    r"retries|broker\.id|node\.id|max\.in\.flight\.requests\.per\.connection|min\.insync\.replicas|acks|"
    r"num\.network\.threads|default\.replication\.factor|log\.retention\.hours"
)
SWITCHES = (
    r"enable\.idempotence|unclean\.leader\.election\.enable|auto\.leader\.rebalance\.enable|"
    r"enable\.auto\.commit|socket\.keepalive\.enable"
)

SOURCE = Source(
    "settings",
    "Settings",
    "settings",
    (
        Signature(
            v.SETTING,
            rf"(?:{TAB})?(?P<key>{NAME}\.ms) = (?P<value>-?\d+)\b",
            within=OWNERS,
            names_source=False,
        ),
        Signature(
            v.SETTING, rf"(?:\b|{TAB})(?P<key>{NUMBERS}) = (?P<value>-?\d+)\b", within=OWNERS, names_source=False
        ),
        Signature(
            v.SETTING, rf"(?:\b|{TAB})(?P<key>{SWITCHES}) = (?P<value>true|false)\b", within=OWNERS, names_source=False
        ),
        # The first address is enough to know the port.
        Signature(
            v.SETTING,
            rf"(?:\b|{TAB})(?P<key>bootstrap\.servers) = \[?"
            r"(?P<value>[\w.-]{1,253}:\d{1,5}|\[[0-9a-fA-F:]{2,45}\]:\d{1,5})\b",
            within=OWNERS,
            names_source=False,
        ),
        Signature(v.SETTING, rf"(?:\b|{TAB})(?P<key>acks) = (?P<value>all)\b", within=OWNERS, names_source=False),
    ),
)
