"""The dashboard of this mode: the broker answers, and its answers go to the MAC of a dead instance."""

from leadsman.prevent.dashboards import panels
from leadsman.prevent.dashboards.dashboard import SHOWS_IT, STAYED_GREEN, Dashboard, DashboardPanel, DashboardRow

DASHBOARD = Dashboard(
    title="Kafka: stale neighbours",
    description="New instances cannot connect to some brokers, whose neighbour tables have the MACs of dead instances.",
    rows=(
        DashboardRow(
            title=STAYED_GREEN,
            panels=(panels.LEADERS, panels.OFFLINE_PARTITIONS, panels.FENCED_BROKERS, panels.LISTEN_OVERFLOWS),
        ),
        DashboardRow(
            title=SHOWS_IT,
            panels=(
                panels.SYN_RECV,
                DashboardPanel(
                    title="Entries of the neighbour table",
                    expression="sum by (instance) (leadsman:neighbour_entries)",
                    unit="short",
                    description="The kernel deletes none while there are fewer than gc_thresh1.",
                    legend="{{instance}}",
                    alerts=("HostKeepsNeighbourEntriesForEver",),
                ),
                DashboardPanel(
                    title="Room below gc_thresh1",
                    expression="sum by (instance) (leadsman:neighbour_threshold)"
                    " - sum by (instance) (leadsman:neighbour_entries)",
                    unit="short",
                    description="Above zero, entries of dead instances stay for ever.",
                    legend="{{instance}}",
                    alerts=("HostKeepsNeighbourEntriesForEver",),
                ),
            ),
        ),
    ),
)
