"""The overview: clients, brokers and hosts beside one another, because each incident showed in one of the three."""

from leadsman.prevent.dashboards import panels
from leadsman.prevent.dashboards.dashboard import Dashboard, DashboardPanel, DashboardRow

FIRING = DashboardPanel(
    title="Firing alerts",
    expression='sum by (mode, alertname) (ALERTS{rules="leadsman", alertstate="firing"})',
    unit="short",
    description="Alerts of the generated rules that fire, by failure mode. What each means is in the rules' README.",
    legend="{{mode}} {{alertname}}",
)
CERTIFICATES = DashboardPanel(
    title="Time until certificates end",
    expression="leadsman:certificate_end - time()",
    unit="s",
    description="By endpoint or secret. At zero every TLS client is refused at once.",
    legend="{{instance}}",
    alerts=("KafkaCertificateEndsSoon",),
)
CREATIONS_FAILED = DashboardPanel(
    title="Clients that could not be created",
    expression="sum by (instance, name) (increase(leadsman:creations_failed[10m]))",
    unit="short",
    description="Creations of a client that failed within ten minutes.",
    legend="{{name}} on {{instance}}",
    alerts=("KafkaClientCannotBeCreated",),
)

DASHBOARD = Dashboard(
    title="Kafka: clients, brokers, hosts",
    description="What the failure modes of leadsman show, in one place. Each mode has a dashboard of its own.",
    rows=(
        DashboardRow(title="Alerts", panels=(FIRING,)),
        DashboardRow(
            title="Clients",
            panels=(
                panels.FAILED_RECORDS,
                panels.CONSUMERS_ALIVE,
                panels.GROUP_LAG,
                panels.CLIENTS_CREATED,
                CREATIONS_FAILED,
            ),
        ),
        DashboardRow(
            title="Brokers",
            panels=(
                panels.WITHOUT_REACHABLE_LEADER,
                panels.FAILED_COMMITS,
                panels.LEADERS,
                panels.PRODUCER_IDS,
                panels.HEAP_SHARE,
                panels.OFFLINE_PARTITIONS,
            ),
        ),
        DashboardRow(title="Hosts", panels=(panels.CPU_STEAL, panels.SYN_RECV, panels.LISTEN_OVERFLOWS, CERTIFICATES)),
    ),
)
