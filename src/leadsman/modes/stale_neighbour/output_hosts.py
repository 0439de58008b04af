"""Assigns outputs without a host to the host after which their folder or file is named.

Files of collectors contain the host's name. Outputs that were redirected into files by hand do not, and the neighbour
table of one broker must not be taken for another broker's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman import vocabulary as names
from leadsman.pipeline.detector_sql import sql_literals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COMMAND_WORDS = (
    "ip|s|j|n|a|an|br|d|show|all|neigh|neighs|neighbour|neighbours|neighbor|neighbors|arp|table|cache|ss|tan|tani|tin|tanp|"
    "tano|tanoi|az|tcp|socket|sockets|netstat|addr|address|addresses|link|links|iface|ifaces|interfaces|sysctl|settings|kernel|"
    "nstat|counters|route|routes|host|output|snapshot|packets|tcpdump|handshakes|pcap|[0-9]{8}t?[0-9]{0,6}z?|txt|log|"
    "json|out|before|after|now"
)
"""Words in the names of output files that are not the host's name."""

_TIME = "[0-9]{4}-?[0-9]{2}-?[0-9]{2}(?:[T_-]?[0-9]{2}[-:.]?[0-9]{2}(?:[-:.]?[0-9]{2})?Z?)?"
"""The time of a sample in a file's name: samples at different times are of one host."""

_REST = (
    f"array_join(filter(split(regexp_replace(try_element_at(split(file, '/'), -1), '{_TIME}', ''), '[._ -]+'), "
    f"w -> NOT lower(w) RLIKE '^({COMMAND_WORDS})$'), '-')"
)
_NAMED = f"IF({_REST} RLIKE '^[0-9-]*$', '', {_REST})"
HOST = f"nullif(trim(BOTH '/' FROM concat(regexp_replace(file, '/?[^/]*$', ''), '/', {_NAMED})), '')"
"""The folder, and the part of the file's name that is no command word; null where both are empty."""

HOST_EVENTS = (
    names.SOCKET_SEEN,
    names.NEIGHBOUR_ENTRY,
    names.LINK_SEEN,
    names.HANDSHAKE_PACKET,
    names.SETTING,
    names.METRIC,
)


def with_output_hosts(events: DataFrame) -> DataFrame:
    """Return the events, with a subject for the outputs of hosts."""
    subject = f"IF(subject IS NULL AND name IN ({sql_literals(*HOST_EVENTS)}), {HOST}, subject) AS subject"
    return events.selectExpr(*(subject if name == "subject" else name for name in events.columns))
