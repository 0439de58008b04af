"""Alerts on consumers that died, or stall, and stay so after the cluster recovered."""

from datetime import timedelta

from leadsman.prevent.alerts.alert import Alert, Case, Owner, Severity, Threshold

INSTANCE = 'instance="orders-1:9404",job="orders"'
MEMBERS, LAG = 'group_members{group="billing"}', 'group_lag{group="billing",topic="orders"}'
COMMAND = "leadsman diagnose FOLDER_WITH_THE_LOGS_OF_THE_CONSUMERS"

ALERTS = (
    Alert(
        name="KafkaStreamsThreadDead",
        summary="{{ $value }} stream threads of {{ $labels.instance }} have died",
        expression="leadsman:stream_threads_failed > 0 or leadsman:stream_threads_alive == 0",
        signals=("stream_threads_alive", "stream_threads_failed"),
        for_duration=timedelta(minutes=1),
        why_for_duration="A thread that is replaced does not count as alive for a moment.",
        severity=Severity.PAGE,
        owner=Owner.SERVICES,
        meaning="A stream thread died of an exception and nothing restarted it; its partitions are processed by none.",
        action="Restart the application, and set an uncaught exception handler that replaces threads.",
        command=COMMAND,
        misses="Threads that a handler replaced stay counted as failed until the application restarts.",
        cases=(
            Case(
                name="broken: one of three threads is dead",
                series={
                    f"stream_threads_alive{{{INSTANCE}}}": "3+0x20 2+0x60",
                    f"stream_threads_failed{{{INSTANCE}}}": "0+0x20 1+0x60",
                },
                firing=1,
            ),
            Case(
                name="cured: the application was restarted",
                series={
                    f"stream_threads_alive{{{INSTANCE}}}": "3+0x20 2+0x10 3+0x60",
                    f"stream_threads_failed{{{INSTANCE}}}": "0+0x20 1+0x10 0+0x60",
                },
                firing=0,
            ),
            Case(
                name="near miss: a deployment",
                series={
                    f"stream_threads_alive{{{INSTANCE}}}": "3+0x20 _x3 3+0x60",
                    f"stream_threads_failed{{{INSTANCE}}}": "0+0x20 _x3 0+0x60",
                },
                firing=0,
            ),
        ),
    ),
    Alert(
        name="KafkaStreamsNotRunning",
        summary="Kafka Streams on {{ $labels.instance }} is not in state RUNNING",
        expression="leadsman:stream_threads_alive unless on (job, instance) leadsman:streams_running",
        signals=("stream_threads_alive", "streams_running"),
        for_duration=timedelta(minutes=10),
        why_for_duration="A rebalance with large state stores takes minutes.",
        severity=Severity.TICKET,
        owner=Owner.SERVICES,
        meaning="The application is rebalancing, in ERROR, or shut its client down, and processes nothing.",
        action="Look for the last state change in its log.",
        command=COMMAND,
        symptom_of=("KafkaPartitionsWithoutReachableLeader", "KafkaStreamsThreadDead"),
        cases=(
            Case(
                name="broken",
                series={
                    f"stream_threads_alive{{{INSTANCE}}}": "3+0x60",
                    f"streams_running{{{INSTANCE}}}": "1+0x20 _x60",
                },
                firing=1,
            ),
            Case(
                name="cured",
                series={f"stream_threads_alive{{{INSTANCE}}}": "3+0x60", f"streams_running{{{INSTANCE}}}": "1+0x60"},
                firing=0,
            ),
            Case(
                name="near miss: a rebalance",
                series={
                    f"stream_threads_alive{{{INSTANCE}}}": "3+0x60",
                    f"streams_running{{{INSTANCE}}}": "1+0x20 _x5 1+0x60",
                },
                firing=0,
                at="27m",
            ),
        ),
    ),
    Alert(
        name="KafkaGroupLostItsMembers",
        summary="Consumer group {{ $labels.group }} has no members, and its lag grows",
        expression=(
            "sum by (cluster, group) (leadsman:group_members) == 0"
            " and on (cluster, group) sum by (cluster, group) (max_over_time(leadsman:group_members[1h])) > 0"
            " and on (cluster, group) sum by (cluster, group) (leadsman:group_lag) > 0"
        ),
        signals=("group_members", "group_lag"),
        for_duration=timedelta(minutes=5),
        why_for_duration="A deployment that stops all members first takes less.",
        severity=Severity.PAGE,
        owner=Owner.SERVICES,
        meaning="All consumers of a group died within the last hour, and records wait for them.",
        action="Read the consumers' last lines: a commit that timed out is followed by none.",
        command=COMMAND,
        misses="A group that lost some of its members: the rest takes their partitions. After an hour the alert ends.",
        cases=(
            Case(name="broken", series={MEMBERS: "3+0x20 0+0x60", LAG: "0+0x20 0+100x60"}, firing=1, at="40m"),
            Case(
                name="cured",
                series={MEMBERS: "3+0x20 0+0x10 3+0x60", LAG: "0+0x20 0+100x10 0+0x60"},
                firing=0,
                at="40m",
            ),
            Case(
                name="near miss: a batch job that has processed everything",
                series={MEMBERS: "3+0x20 0+0x60", LAG: "0+0x90"},
                firing=0,
                at="40m",
            ),
            Case(
                name="near miss: a deployment",
                series={MEMBERS: "3+0x20 0+0x2 3+0x60", LAG: "0+0x20 100+0x3 0+0x60"},
                firing=0,
                at="24m",
            ),
        ),
    ),
    Alert(
        name="KafkaGroupCommitsNothing",
        summary="Consumer group {{ $labels.group }} has members and lag, and commits nothing",
        expression=(
            "sum by (cluster, group) (rate(leadsman:group_commits[10m])) == 0"
            " and on (cluster, group) sum by (cluster, group) (leadsman:group_members) > 0"
            " and on (cluster, group) sum by (cluster, group) (leadsman:group_lag) > 0"
        ),
        signals=("group_commits", "group_members", "group_lag"),
        for_duration=timedelta(minutes=5),
        why_for_duration="The longest poll of a consumer is 5 minutes by default (max.poll.interval.ms).",
        severity=Severity.TICKET,
        owner=Owner.SERVICES,
        meaning="Members hold the partitions and make no progress: their commits fail, or one record blocks them.",
        action="Read the logs of the members.",
        command=COMMAND,
        symptom_of=("KafkaPartitionsWithoutReachableLeader",),
        cases=(
            Case(
                name="broken",
                series={
                    MEMBERS: "3+0x90",
                    LAG: "5+0x20 5+100x60",
                    'group_commits{group="billing"}': "0+10x20 200+0x60",
                },
                firing=1,
            ),
            Case(
                name="cured",
                series={
                    MEMBERS: "3+0x90",
                    LAG: "5+0x90",
                    'group_commits{group="billing"}': "0+10x20 200+0x15 200+10x60",
                },
                firing=0,
            ),
            Case(
                name="near miss: nothing to do",
                series={MEMBERS: "3+0x90", LAG: "0+0x90", 'group_commits{group="billing"}': "200+0x90"},
                firing=0,
            ),
        ),
    ),
    Alert(
        name="KafkaConsumerStalled",
        summary="Consumer {{ $labels.name }} of {{ $labels.instance }} makes no progress",
        expression="leadsman:consumer_alive == 0",
        signals=("consumer_alive",),
        for_duration=timedelta(minutes=5),
        why_for_duration="leadsman_clients replaces a consumer that stalls; five minutes are several attempts.",
        severity=Severity.PAGE,
        owner=Owner.SERVICES,
        meaning="The consumer has records to process and does not, and replacing it did not help.",
        action="Open its /live endpoint: it names the reason.",
        command=COMMAND,
        symptom_of=("KafkaPartitionsWithoutReachableLeader",),
        cases=(
            Case(name="broken", series={'consumer_alive{name="billing"}': "1+0x20 0+0x60"}, firing=1, at="40m"),
            Case(name="cured", series={'consumer_alive{name="billing"}': "1+0x20 0+0x10 1+0x60"}, firing=0, at="40m"),
            Case(
                name="near miss: replaced at once",
                series={'consumer_alive{name="billing"}': "1+0x20 0+0x2 1+0x60"},
                firing=0,
            ),
        ),
    ),
    Alert(
        name="KafkaConsumerReplacedAgainAndAgain",
        summary="Consumer {{ $labels.name }} of {{ $labels.instance }} was replaced {{ $value | humanize }} times",
        expression="increase(leadsman:consumer_restarts[1h]) > $max",
        thresholds=(
            Threshold(name="max", value=6, why="one in ten minutes: a failover replaces a consumer once or twice"),
        ),
        signals=("consumer_restarts",),
        for_duration=timedelta(0),
        why_for_duration="An hour is counted.",
        severity=Severity.TICKET,
        owner=Owner.SERVICES,
        meaning="The supervision works, and hides that something keeps ending the consumer.",
        action="Read the reason of each replacement in its log.",
        command=COMMAND,
        cases=(
            Case(name="broken", series={'consumer_restarts{name="billing"}': "0+1x90"}, firing=1),
            Case(name="cured", series={'consumer_restarts{name="billing"}': "0+1x30 30+0x120"}, firing=0, at="2h"),
            Case(
                name="near miss: one failover", series={'consumer_restarts{name="billing"}': "0+0x30 2+0x90"}, firing=0
            ),
        ),
    ),
)
