r"""The id of the cluster that a log is of: brokers, controllers, clients and Kafka's own tools print it at their start.

Java clients print it since 0.10.1, brokers with ZooKeeper from 0.10.1 to 3.9, KRaft brokers since 2.8, controllers
since 3.3, Connect since 1.1, librdkafka since 0.11 with `debug=generic` or `metadata`. Other clients print none.
Kafka generates ids of 22 characters; other ids (a cloud's `lkc-1a2b3`) are read only from unambiguous wordings.
"""

from __future__ import annotations

from leadsman import vocabulary as v
from leadsman.telemetry.source import CLUSTER_ID, Signature, Source

ID = r"(?P<value>[\w-]{1,64})"
GENERATED_ID = r"(?P<value>[\w-]{22})\b"


def _signature(pattern: str, within: str = "") -> Signature:
    """Return a signature of a cluster id. It does not identify the writer of the file: brokers run clients, too."""
    first_lines: dict[str, dict[str, str]] = {within: {}} if within else {}
    return Signature(v.SETTING, pattern, labels=CLUSTER_ID, within=first_lines, names_source=False)


SOURCE = Source(
    "cluster_id",
    "Cluster",
    "settings",
    (
        _signature(rf"clientId=[^\]\n]{{1,400}}\] Cluster ID: {ID}\b"),
        _signature(rf"\bCluster ID: {GENERATED_ID}"),  # clients before 2.3 do not name themselves
        _signature(rf"\bCluster ID = {GENERATED_ID}"),
        _signature(rf"\bIncarnation [\w-]{{22}} of broker \d+ in cluster {ID} is now STARTING\b"),
        _signature(rf"\bCreating new QuorumController with clusterId {ID}\b"),
        _signature(rf"meta\.properties file containing MetaProperties\(version=\d, clusterId={ID}[,)]"),
        _signature(rf"\bKafka cluster ID: {ID}\b"),
        _signature(rf'ClusterId update \\?"[^"\n]{{0,64}}" -> \\?"{ID}\\?"'),
        _signature(rf"\bClusterId: {ID}, ControllerId: "),
        _signature(rf"\bFound metadata: \{{[^}}\n]{{0,200}}cluster\.id={ID}[,}}]"),  # kafka-storage info
        _signature(rf"\bcluster\.id = {ID}\b", within="broker properties"),  # a broker's meta.properties
    ),
)
