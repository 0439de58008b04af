"""Whose output a file is that says so nowhere: of the host after which its folder or the file is named.

What collectors write names its host. Outputs that were redirected into files by hand do not, and a broker's neighbour
table must not be taken for another's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.shapes import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COMMAND_WORDS = (
    "ip|s|j|n|a|an|br|d|show|all|neigh|neighs|neighbour|neighbours|neighbor|neighbors|arp|table|cache|ss|tan|tani|tin|tanp|"
    "tano|tanoi|az|tcp|socket|sockets|netstat|addr|address|addresses|link|links|iface|ifaces|interfaces|sysctl|settings|kernel|"
    "nstat|counters|route|routes|host|output|snapshot|packets|tcpdump|handshakes|pcap|[0-9]{8}t?[0-9]{0,6}z?|txt|log|"
    "json|out|before|after|now"
)
"""What outputs are named for besides their host."""

_TIME = "[0-9]{4}-?[0-9]{2}-?[0-9]{2}(?:[T_-]?[0-9]{2}[-:.]?[0-9]{2}(?:[-:.]?[0-9]{2})?Z?)?"
"""When a look was taken, in a file's name: one host's looks are one host's."""

_REST = (
    f"array_join(filter(split(regexp_replace(element_at(split(file, '/'), -1), '{_TIME}', ''), '[._ -]+'), "
    f"w -> NOT lower(w) RLIKE '^({COMMAND_WORDS})$'), '-')"
)
_NAMED = f"IF({_REST} RLIKE '^[0-9-]*$', '', {_REST})"
HOST = f"nullif(trim(BOTH '/' FROM concat(regexp_replace(file, '/?[^/]*$', ''), '/', {_NAMED})), '')"
"""The folder and what of the file's name is no command's; null where neither says anything."""

OF_HOSTS = (
    names.SOCKET_SEEN,
    names.NEIGHBOUR_ENTRY,
    names.LINK_SEEN,
    names.HANDSHAKE_PACKET,
    names.SETTING,
    names.METRIC,
)


def of_hosts(events: DataFrame) -> DataFrame:
    """Return the events, each output of a host with a subject."""
    subject = f"IF(subject IS NULL AND name IN ({quoted(*OF_HOSTS)}), {HOST}, subject) AS subject"
    return events.selectExpr(*(subject if name == "subject" else name for name in events.columns))
