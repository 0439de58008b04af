"""The dashboard of this mode: brokers are well while records are lost between clients and brokers."""

from leadsman.prevent.dashboards import panels
from leadsman.prevent.dashboards.dashboard import SHOWS_IT, STAYED_GREEN, Dashboard, DashboardPanel, DashboardRow

DASHBOARD = Dashboard(
    title="Kafka: idle disconnects",
    description="A hop drops idle connections. Brokers see a client that left; the client alone knows of lost records.",
    rows=(
        DashboardRow(title=STAYED_GREEN, panels=(panels.OFFLINE_PARTITIONS, panels.FENCED_BROKERS, panels.LEADERS)),
        DashboardRow(
            title=SHOWS_IT,
            panels=(
                panels.FAILED_RECORDS,
                DashboardPanel(
                    title="Records that failed, by service",
                    expression="sum by (instance) (rate(leadsman:records_failed[5m]))",
                    unit="cps",
                    description="Records that a producer gave up, expired ones among them. They follow pauses.",
                    legend="{{instance}}",
                    alerts=("KafkaRecordsLost",),
                ),
                DashboardPanel(
                    title="Records given up while a client was closed",
                    expression="sum by (instance, name) (increase(leadsman:records_given_up[1h]))",
                    unit="short",
                    description="Records not delivered when a provider replaced or closed its client, in an hour.",
                    legend="{{name}} on {{instance}}",
                    alerts=("KafkaClientGaveUpRecords",),
                    threshold="min",
                ),
                DashboardPanel(
                    title="Clients replaced because they were idle",
                    expression="sum by (instance, name) (increase(leadsman:idle_replacements[1h]))",
                    unit="short",
                    description="The cure at work: each replaced client would have met a dropped connection.",
                    legend="{{name}} on {{instance}}",
                    alerts=("KafkaClientReplacedAfterIdle",),
                    threshold="max",
                ),
            ),
        ),
    ),
)
