"""The dashboard of the incident: standard panels that stayed green, and the panels that would have shown the leak.

Metrics are matched by the spellings of all exporters, with any prefix.
"""

from leadsman.model import Panel

PANELS = (
    Panel(id="request_handlers", title="Request handlers idle", unit="percent", is_standard=True),
    Panel(id="network_processors", title="Network processors idle", unit="percent", is_standard=True),
    Panel(id="under_replicated", title="Under-replicated partitions", is_standard=True),
    Panel(id="offline", title="Offline partitions", is_standard=True),
    Panel(id="ids", title="Producer ids by broker"),
    Panel(id="ids_of_partitions", title="Producer ids by partition"),
    Panel(id="live_heap", title="Heap in use after garbage collection", unit="bytes"),
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
"""Patterns of the metrics, and patterns of similar metrics that do not match.

The controller counts topics and partitions of the whole cluster; a broker counts only its own replicas."""

IN_PERCENT = ("request_handlers", "network_processors")
