"""Panels that several dashboards show: what every broker dashboard has, and what stayed green in several incidents."""

from leadsman.prevent.dashboards.dashboard import DashboardPanel

OFFLINE_PARTITIONS = DashboardPanel(
    title="Partitions without a leader, by the controller",
    expression="max by (cluster) (leadsman:offline_partitions)",
    unit="short",
    description="The controller counts a partition only when its broker is fenced and no replica in sync is left.",
    legend="{{cluster}}",
    alerts=("KafkaPartitionsOffline",),
)
FENCED_BROKERS = DashboardPanel(
    title="Fenced brokers",
    expression="max by (cluster) (leadsman:fenced_brokers)",
    unit="short",
    description="Brokers that the controller takes for dead. A broker that died counts only after its session ends.",
    legend="{{cluster}}",
    alerts=("KafkaBrokerFenced",),
)
LEADERS = DashboardPanel(
    title="Partitions led, by broker",
    expression="sum by (cluster, instance) (leadsman:leaders)",
    unit="short",
    description="A broker that leads nothing, while others do, serves no client.",
    legend="{{instance}}",
    alerts=("KafkaBrokerLeadsNothing", "KafkaBrokerUnreachable"),
)
WITHOUT_REACHABLE_LEADER = DashboardPanel(
    title="Partitions without a reachable leader",
    expression="leadsman:partitions:leaderless",
    unit="short",
    description="Partitions of the cluster minus those that the scraped brokers lead. Zero in a healthy cluster.",
    legend="{{cluster}}",
    alerts=("KafkaPartitionsWithoutReachableLeader",),
)
FAILED_COMMITS = DashboardPanel(
    title="Offset commits that brokers could not store",
    expression="leadsman:offset_commits:ratio_rate5m",
    unit="percentunit",
    description="The share of failed offset commits over five minutes. The budget is one in a thousand.",
    legend="{{cluster}}",
    alerts=("KafkaOffsetCommitsFail",),
)
FAILED_RECORDS = DashboardPanel(
    title="Records that failed for good",
    expression="leadsman:records:ratio_rate5m",
    unit="percentunit",
    description="The share of records that a producer gave up, over five minutes. The budget is one in a thousand.",
    legend="{{instance}}",
    alerts=("KafkaRecordsLost",),
)
GROUP_LAG = DashboardPanel(
    title="Lag of consumer groups",
    expression="sum by (cluster, group) (leadsman:group_lag)",
    unit="short",
    description="Records that a group has not committed yet. It grows for every cause alike.",
    legend="{{group}}",
    alerts=("KafkaGroupCommitsNothing", "KafkaGroupLostItsMembers"),
)
CONSUMERS_ALIVE = DashboardPanel(
    title="Consumers that make progress",
    expression="min by (instance, name) (leadsman:consumer_alive)",
    unit="bool",
    description="1 while a consumer makes progress or has nothing to do; 0 while it is stalled.",
    legend="{{name}} on {{instance}}",
    alerts=("KafkaConsumerStalled",),
)
HEAP_SHARE = DashboardPanel(
    title="Live data in the brokers' heap",
    expression="leadsman:heap_after_collection:share",
    unit="percentunit",
    description="Heap in use after a collection, as a share of the limit: what no collection can free.",
    legend="{{instance}}",
    alerts=("KafkaBrokerHeapNearlyFull",),
    threshold="full_share",
)
PRODUCER_IDS = DashboardPanel(
    title="Producer ids, by broker",
    expression="sum by (cluster, instance) (leadsman:producer_ids)",
    unit="short",
    description="One for each id and partition. As many as there are producers is healthy; a climbing line is a leak.",
    legend="{{instance}}",
    alerts=("KafkaProducerIdsKeepGrowing",),
)
CLIENTS_CREATED = DashboardPanel(
    title="Clients created per hour",
    expression="sum by (instance, name) (rate(leadsman:instances_created[10m])) * 3600",
    unit="short",
    description="A service creates its clients at its start, and then none.",
    legend="{{name}} on {{instance}}",
    alerts=("KafkaClientCreatedAgainAndAgain",),
)
SYN_RECV = DashboardPanel(
    title="Connections in SYN_RECV, by host",
    expression="sum by (instance) (leadsman:syn_recv)",
    unit="short",
    description="Connections that wait for the third packet of the handshake. On a healthy host it returns to zero.",
    legend="{{instance}}",
    alerts=("HostConnectionsStuckInSynRecv",),
)
LISTEN_OVERFLOWS = DashboardPanel(
    title="Connections dropped by a full accept queue",
    expression="sum by (instance) (rate(leadsman:listen_overflows[5m]))",
    unit="cps",
    description="Above zero the server itself drops connections: then SYN_RECV has another cause.",
    legend="{{instance}}",
)
CPU_STEAL = DashboardPanel(
    title="CPU steal",
    expression="leadsman:cpu_steal:share",
    unit="percentunit",
    description="The share of CPU time that the hypervisor gives to other guests. It freezes brokers and clients.",
    legend="{{instance}}",
    alerts=("HostCpuSteal",),
    threshold="share",
)
