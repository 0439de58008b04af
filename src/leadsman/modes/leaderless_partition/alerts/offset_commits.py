"""Alerts on offset commits that fail, as burn rates: by what brokers answer, and by leadsman_clients' own counts."""

from leadsman.prevent.alerts.alert import Alert, Case, Owner
from leadsman.prevent.alerts.burn_rate import AT_ONCE, FAST, SLOW, WHY_AT_ONCE, ErrorRatio, WindowPair, thresholds

BY_BROKERS = ErrorRatio(record="offset_commits", failed="offset_commits_failed", total="offset_commits", by="cluster")
BY_CONSUMERS = ErrorRatio(
    record="consumer_commits", failed="consumer_commit_failures", total="consumer_attempts", by="cluster, name"
)
FAILED = 'offset_commits_failed{instance="broker-1:9404",error="COORDINATOR_NOT_AVAILABLE"}'
ANSWERED = 'offset_commits{instance="broker-1:9404",error="NONE"}'


def _answers(failed: str) -> dict[str, str]:
    return {FAILED: failed, ANSWERED: "0+60x600"}


def _broker_alert(window: WindowPair, name: str) -> Alert:
    return Alert(
        name=name,
        summary="{{ $value | humanizePercentage }} of the offset commits fail",
        recordings=BY_BROKERS.recordings(window),
        expression=BY_BROKERS.expression(window),
        signals=("offset_commits", "offset_commits_failed"),
        thresholds=thresholds(window),
        for_duration=AT_ONCE,
        why_for_duration=WHY_AT_ONCE,
        severity=window.severity,
        owner=Owner.BROKERS,
        meaning="Coordinators cannot store commits: they are loading, have moved, or wait for replicas.",
        action="Find the coordinator of the groups and the brokers in the ISR of its offsets partition.",
        command="leadsman collect kafka --bootstrap HOST:9092 --out CAPTURE && leadsman diagnose CAPTURE",
        symptom_of=("KafkaPartitionsWithoutReachableLeader",),
        misses="Commits that no broker answered: the consumers' own counts show those.",
        cases=(
            Case(
                name="broken: a tenth of all commits fails",
                series=_answers("0+6x600"),
                firing=1,
                at=window.broken_at,
                interval=window.interval,
            ),
            Case(
                name="cured",
                series=_answers("0+6x60 360+0x240"),
                firing=0,
                at=window.cured_at,
                interval=window.interval,
            ),
            Case(
                name="near miss: rebalances",
                series={
                    **_answers("0+0x600"),
                    'offset_commits{instance="broker-1:9404",error="REBALANCE_IN_PROGRESS"}': "0+6x600",
                },
                firing=0,
                at=window.broken_at,
                interval=window.interval,
                why="a rebalance answers other errors",
            ),
        ),
    )


def _consumer_alert(window: WindowPair, name: str) -> Alert:
    attempts = "leadsman:consumer_commits + leadsman:consumer_commit_failures"
    return Alert(
        name=name,
        summary="{{ $value | humanizePercentage }} of the commits of consumer {{ $labels.name }} fail",
        recordings={"leadsman:consumer_attempts": attempts, **BY_CONSUMERS.recordings(window)},
        expression=BY_CONSUMERS.expression(window),
        signals=("consumer_commits", "consumer_commit_failures"),
        thresholds=thresholds(window),
        for_duration=AT_ONCE,
        why_for_duration=WHY_AT_ONCE,
        severity=window.severity,
        owner=Owner.SERVICES,
        meaning="A consumer's commits fail or time out. leadsman_clients replaces it; a plain one would crash.",
        action="Compare default.api.timeout.ms with the length of a failover.",
        command="leadsman sweep leaderless_partition --set default.api.timeout.ms=5s,60s",
        symptom_of=("KafkaPartitionsWithoutReachableLeader",),
        cases=(
            Case(
                name="broken: a tenth of the commits fails",
                series={
                    'consumer_commits{name="billing"}': "0+54x600",
                    'consumer_commit_failures{name="billing"}': "0+6x600",
                },
                firing=1,
                at=window.broken_at,
                interval=window.interval,
            ),
            Case(
                name="cured",
                series={
                    'consumer_commits{name="billing"}': "0+54x600",
                    'consumer_commit_failures{name="billing"}': "0+6x60 360+0x240",
                },
                firing=0,
                at=window.cured_at,
                interval=window.interval,
            ),
            Case(
                name="near miss: one commit in ten thousand",
                series={
                    'consumer_commits{name="billing"}': "0+10000x600",
                    'consumer_commit_failures{name="billing"}': "0+1x600",
                },
                firing=0,
                at=window.broken_at,
                interval=window.interval,
            ),
        ),
    )


ALERTS = (
    _broker_alert(FAST, "KafkaOffsetCommitsFail"),
    _broker_alert(SLOW, "KafkaOffsetCommitsFailSlowly"),
    _consumer_alert(FAST, "KafkaConsumerCommitsFail"),
    _consumer_alert(SLOW, "KafkaConsumerCommitsFailSlowly"),
)
