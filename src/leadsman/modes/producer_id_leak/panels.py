"""The dashboard of the incident: the panels that every team has and that stayed green, and those that would have told.

Metrics are known by how exporters spell them, whatever their prefix.
"""

from leadsman.model import Panel

PANELS = (
    Panel(id="request_handlers", title="Request handlers idle", unit="percent", had=True),
    Panel(id="network_processors", title="Network processors idle", unit="percent", had=True),
    Panel(id="under_replicated", title="Under-replicated partitions", had=True),
    Panel(id="offline", title="Offline partitions", had=True),
    Panel(id="ids", title="Producer ids held by each broker"),
    Panel(id="ids_of_partitions", title="Producer ids held for each partition"),
    Panel(id="live_heap", title="Heap in use after a collection", unit="bytes"),
    Panel(id="topics", title="Topics"),
    Panel(id="partitions", title="Partitions"),
)

SPELLINGS = {
    "request_handlers": "(?i)request_?handler_?avg_?idle",
    "network_processors": "(?i)network_?processor_?avg_?idle",
    "under_replicated": "(?i)under_?replicated_?partitions",
    "offline": "(?i)offline_?partitions_?count",
    "topics": "(?i)global_?topic_?count",
    "partitions": "(?i)global_?partition_?count",
}
OTHERS = {
    "request_handlers": "(?i)(broker|controller)request_?handler_?avg_?idle",
    "partitions": "(?i)(active|offline)_global_?partition_?count",
}
"""How metrics are spelled, and those that are spelled alike and are not meant.

The controller counts topics and partitions of the whole cluster; a broker its own replicas only."""

IN_PERCENT = ("request_handlers", "network_processors")
