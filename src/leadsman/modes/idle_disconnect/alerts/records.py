"""Alerts on records that fail for good: as a burn rate for Java producers, by count for leadsman_clients' providers."""

from datetime import timedelta

from leadsman.modes.idle_disconnect.thresholds import MIN_FAILURES
from leadsman.prevent.alerts.alert import Alert, Case, Owner, Severity, Threshold
from leadsman.prevent.alerts.burn_rate import AT_ONCE, FAST, SLOW, WHY_AT_ONCE, ErrorRatio, WindowPair, thresholds

RATIO = ErrorRatio(record="records", failed="records_failed", total="records_sent", by="cluster, job, instance")
LABELS = 'instance="orders-1:9404",job="orders",client_id="producer-1"'
COMMAND = "leadsman diagnose FOLDER_WITH_THE_LOGS_OF_ALL_WORKERS"


def _records(failed: str) -> dict[str, str]:
    return {f"records_failed{{{LABELS}}}": failed, f"records_sent{{{LABELS}}}": "0+60x600"}


def _alert(window: WindowPair, name: str) -> Alert:
    return Alert(
        name=name,
        summary="{{ $value | humanizePercentage }} of the records of {{ $labels.instance }} are lost",
        recordings=RATIO.recordings(window),
        expression=RATIO.expression(window),
        signals=("records_failed", "records_sent"),
        thresholds=thresholds(window),
        for_duration=AT_ONCE,
        why_for_duration=WHY_AT_ONCE,
        severity=window.severity,
        owner=Owner.SERVICES,
        meaning="Records fail for good: expired in the buffer, or lost on a connection that was gone.",
        action="Look whether failures follow idle gaps; lower connections.max.idle.ms below every hop's limit.",
        command=COMMAND,
        symptom_of=("KafkaPartitionsWithoutReachableLeader", "HostConnectionsStuckInSynRecv"),
        misses=(
            "A worker that sends once an hour: its few records spend no budget within the windows. A worker that was "
            "frozen for longer than the short window: its first scrape afterwards counts the lost record already."
        ),
        cases=(
            Case(
                name="broken: a tenth of the records is lost",
                series=_records("0+6x600"),
                firing=1,
                at=window.broken_at,
                interval=window.interval,
            ),
            Case(
                name="cured",
                series=_records("0+6x60 360+0x240"),
                firing=0,
                at=window.cured_at,
                interval=window.interval,
            ),
            Case(
                name="near miss: a harmless close",
                series=_records("0+0x600"),
                firing=0,
                at=window.broken_at,
                interval=window.interval,
                why="with retries the record is sent again: record-retry-total grows, record-error-total does not",
            ),
        ),
    )


ALERTS = (
    _alert(FAST, "KafkaRecordsLost"),
    _alert(SLOW, "KafkaRecordsLostSlowly"),
    Alert(
        name="KafkaClientGaveUpRecords",
        summary="Provider {{ $labels.name }} of {{ $labels.instance }} gave up {{ $value | humanize }} records",
        expression="increase(leadsman:records_given_up[1h]) >= $min",
        signals=("records_given_up",),
        thresholds=(Threshold(name="min", value=MIN_FAILURES, why="the detector's limit: fewer can be a coincidence"),),
        for_duration=timedelta(0),
        why_for_duration="An hour is counted.",
        severity=Severity.TICKET,
        owner=Owner.SERVICES,
        meaning="Clients were closed with records that could not be sent; each had its delivery report.",
        action="See whether the path to the brokers works, and whether close_seconds is long enough.",
        command=COMMAND,
        symptom_of=("KafkaPartitionsWithoutReachableLeader", "HostConnectionsStuckInSynRecv"),
        cases=(
            Case(name="broken", series={'records_given_up{name="orders"}': "0+1x90"}, firing=1),
            Case(name="cured", series={'records_given_up{name="orders"}': "0+1x30 30+0x120"}, firing=0, at="2h"),
            Case(
                name="near miss: one at a deployment",
                series={'records_given_up{name="orders"}': "0+0x30 1+0x90"},
                firing=0,
            ),
        ),
    ),
    Alert(
        name="KafkaClientCannotBeCreated",
        summary="Provider {{ $labels.name }} of {{ $labels.instance }} cannot create its client",
        expression="increase(leadsman:creations_failed[10m]) >= $min",
        signals=("creations_failed",),
        thresholds=(Threshold(name="min", value=MIN_FAILURES, why="the detector's limit: fewer can be a coincidence"),),
        for_duration=timedelta(0),
        why_for_duration="Ten minutes are counted: several attempts with backoff.",
        severity=Severity.PAGE,
        owner=Owner.SERVICES,
        meaning="The service has no producer: credentials, settings or the network refuse one.",
        action="Read the creation's error in its log.",
        command=COMMAND,
        symptom_of=("KafkaPartitionsWithoutReachableLeader",),
        cases=(
            Case(name="broken", series={'creations_failed{name="orders"}': "0+1x90"}, firing=1),
            Case(name="cured", series={'creations_failed{name="orders"}': "0+1x30 30+0x90"}, firing=0),
            Case(name="near miss: one attempt", series={'creations_failed{name="orders"}': "0+0x55 1+0x90"}, firing=0),
        ),
    ),
    Alert(
        name="KafkaClientReplacedAfterIdle",
        summary="Provider {{ $labels.name }} of {{ $labels.instance }} replaced {{ $value | humanize }} idle clients",
        expression="increase(leadsman:idle_replacements[1h]) > $max",
        signals=("idle_replacements",),
        thresholds=(
            Threshold(
                name="max", value=6, why="one in ten minutes, the brokers' default idle limit: more often is no idling"
            ),
        ),
        for_duration=timedelta(0),
        why_for_duration="An hour is counted.",
        severity=Severity.INFO,
        owner=Owner.SERVICES,
        meaning="The cure works and costs connections, and producer ids: the limit may be lower than the path needs.",
        action="Compare the provider's limit with the shortest hop of the path.",
        command="leadsman explain idle_disconnect",
        cases=(
            Case(name="broken", series={'idle_replacements{name="orders"}': "0+1x90"}, firing=1),
            Case(name="cured", series={'idle_replacements{name="orders"}': "0+1x30 30+0x120"}, firing=0, at="2h"),
            Case(
                name="near miss: a worker that is reused every half hour",
                series={'idle_replacements{name="orders"}': "0+0x20 1+0x30 2+0x60"},
                firing=0,
            ),
        ),
    ),
)
