r"""Which cluster a log is of: the id that brokers, controllers, clients and Kafka's own tools print at their start.

Java clients print it since 0.10.1, brokers with ZooKeeper from 0.10.1 to 3.9, KRaft brokers since 2.8, controllers
since 3.3, Connect since 1.1, librdkafka since 0.11 with `debug=generic` or `metadata`. Other clients print none.
Kafka makes ids of 22 characters; others (a cloud's `lkc-1a2b3`) are taken only where nothing else could be meant.
"""

from __future__ import annotations

from leadsman import vocabulary as v
from leadsman.telemetry.source import CLUSTER_ID, Signature, Source

ID = r"(?P<value>[\w-]{1,64})"
MADE_BY_KAFKA = r"(?P<value>[\w-]{22})\b"


def _told(pattern: str, within: str = "") -> Signature:
    """Return a signature of a cluster's id. None of them tells who wrote the file: brokers hold clients, too."""
    heads: dict[str, dict[str, str]] = {within: {}} if within else {}
    return Signature(v.SETTING, pattern, labels=CLUSTER_ID, within=heads, names_source=False)


SOURCE = Source(
    "cluster_id",
    "Cluster",
    "settings",
    (
        _told(rf"clientId=[^\]\n]{{1,400}}\] Cluster ID: {ID}\b"),
        _told(rf"\bCluster ID: {MADE_BY_KAFKA}"),  # clients before 2.3 do not name themselves
        _told(rf"\bCluster ID = {MADE_BY_KAFKA}"),
        _told(rf"\bIncarnation [\w-]{{22}} of broker \d+ in cluster {ID} is now STARTING\b"),
        _told(rf"\bCreating new QuorumController with clusterId {ID}\b"),
        _told(rf"meta\.properties file containing MetaProperties\(version=\d, clusterId={ID}[,)]"),
        _told(rf"\bKafka cluster ID: {ID}\b"),
        _told(rf'ClusterId update \\?"[^"\n]{{0,64}}" -> \\?"{ID}\\?"'),
        _told(rf"\bClusterId: {ID}, ControllerId: "),
        _told(rf"\bFound metadata: \{{[^}}\n]{{0,200}}cluster\.id={ID}[,}}]"),  # kafka-storage info
        _told(rf"\bcluster\.id = {ID}\b", within="broker properties"),  # a broker's meta.properties
    ),
)
