"""The dashboard of this mode: requests succeed until the day on which the brokers' heap is full."""

from leadsman.prevent.dashboards import panels
from leadsman.prevent.dashboards.dashboard import SHOWS_IT, STAYED_GREEN, Dashboard, DashboardPanel, DashboardRow

DASHBOARD = Dashboard(
    title="Kafka: producer-id leak",
    description="A service creates producers again and again. Each leaves an id in the brokers' heap, for a day.",
    rows=(
        DashboardRow(
            title=STAYED_GREEN,
            panels=(panels.FAILED_RECORDS, panels.LEADERS, panels.OFFLINE_PARTITIONS),
        ),
        DashboardRow(
            title=SHOWS_IT,
            panels=(
                panels.PRODUCER_IDS,
                DashboardPanel(
                    title="New producer ids per hour, by broker",
                    expression="leadsman:producer_ids:per_hour",
                    unit="short",
                    description="Above the line a leak is likely; a deployment makes a short peak.",
                    legend="{{instance}}",
                    alerts=("KafkaProducerIdsKeepGrowing",),
                    threshold="min_ids_per_hour",
                ),
                panels.CLIENTS_CREATED,
                DashboardPanel(
                    title="Producer ids in the brokers' heap",
                    expression="leadsman:producer_ids:heap_share",
                    unit="percentunit",
                    description="What the ids take of the heap, by the size of one id as measured.",
                    legend="{{instance}}",
                    alerts=("KafkaProducerIdsFillHeap",),
                    threshold="oom_share",
                ),
                panels.HEAP_SHARE,
                DashboardPanel(
                    title="Topics",
                    expression="max by (cluster) (leadsman:topics)",
                    unit="short",
                    description="Many producers are often beside many topics: the same code creates both.",
                    legend="{{cluster}}",
                    alerts=("KafkaTopicsKeepGrowing",),
                ),
            ),
        ),
    ),
)
