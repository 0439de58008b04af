"""The dashboard of this mode: metadata go on naming a dead broker as leader, so the controller counts nothing."""

from leadsman.prevent.dashboards import panels
from leadsman.prevent.dashboards.dashboard import SHOWS_IT, STAYED_GREEN, Dashboard, DashboardPanel, DashboardRow

DASHBOARD = Dashboard(
    title="Kafka: partitions without a leader",
    description="A broker is gone and its partitions keep it as leader; consumers die of commits that time out.",
    rows=(
        DashboardRow(title=STAYED_GREEN, panels=(panels.OFFLINE_PARTITIONS, panels.FENCED_BROKERS)),
        DashboardRow(
            title=SHOWS_IT,
            panels=(
                panels.WITHOUT_REACHABLE_LEADER,
                panels.LEADERS,
                panels.FAILED_COMMITS,
                DashboardPanel(
                    title="Failed offset commits, by consumer",
                    expression="sum by (instance, name) (rate(leadsman:consumer_commit_failures[5m]))",
                    unit="cps",
                    description="Offset commits that failed or timed out: a consumer dies of one it does not catch.",
                    legend="{{name}} on {{instance}}",
                    alerts=("KafkaConsumerCommitsFail",),
                ),
                panels.CONSUMERS_ALIVE,
                DashboardPanel(
                    title="Members of consumer groups",
                    expression="sum by (cluster, group) (leadsman:group_members)",
                    unit="short",
                    description="A group that loses its members and gets none back is dead after the recovery.",
                    legend="{{group}}",
                    alerts=("KafkaGroupLostItsMembers",),
                ),
                DashboardPanel(
                    title="Stream threads that are alive",
                    expression="sum by (instance) (leadsman:stream_threads_alive)",
                    unit="short",
                    description="Kafka Streams does not replace a thread that died of an exception.",
                    legend="{{instance}}",
                    alerts=("KafkaStreamsThreadDead",),
                ),
                panels.GROUP_LAG,
                DashboardPanel(
                    title="Leader elections within ten minutes",
                    expression="sum by (cluster) (increase(leadsman:elections[10m]))",
                    unit="short",
                    description="The recovery: until an election, requests to the dead leader wait.",
                    legend="{{cluster}}",
                    alerts=("KafkaLeadersElected",),
                ),
                DashboardPanel(
                    title="Unclean elections within ten minutes",
                    expression="sum by (cluster) (increase(leadsman:unclean_elections[10m]))",
                    unit="short",
                    description="A replica that was not in sync became leader: acknowledged records are lost.",
                    legend="{{cluster}}",
                    alerts=("KafkaUncleanElection",),
                ),
                panels.CPU_STEAL,
            ),
        ),
    ),
)
