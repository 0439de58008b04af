"""An alert on the cause in the service: a provider that creates a client again and again."""

from datetime import timedelta

from leadsman.modes.producer_id_leak.thresholds import MIN_IDS_PER_HOUR
from leadsman.prevent.alerts.alert import Alert, Case, Owner, Severity, Threshold

ALERTS = (
    Alert(
        name="KafkaClientCreatedAgainAndAgain",
        summary="Provider {{ $labels.name }} of {{ $labels.instance }} creates {{ $value | humanize }} clients/h",
        expression="min_over_time((rate(leadsman:instances_created[10m]) * 3600)[30m:5m]) > $min_ids_per_hour",
        signals=("instances_created",),
        thresholds=(
            Threshold(
                name="min_ids_per_hour",
                value=MIN_IDS_PER_HOUR,
                why="the detector's limit, a cron job's rate",
            ),
        ),
        for_duration=timedelta(0),
        why_for_duration="The lowest rate of half an hour counts.",
        severity=Severity.TICKET,
        owner=Owner.SERVICES,
        meaning="Each new producer takes a producer id, which brokers keep for a day or longer.",
        action="See why clients expire (leadsman_client_expired_total by reason): limits too short, a fork, failures.",
        command="leadsman explain producer_id_leak",
        cases=(
            Case(name="broken", series={'instances_created{name="orders"}': "0+3x120"}, firing=1),
            Case(name="cured", series={'instances_created{name="orders"}': "0+3x60 180+0x60"}, firing=0, at="2h"),
            Case(
                name="near miss: a provider that replaces idle clients",
                series={'instances_created{name="orders"}': "0+1x3 3+0x10 4+0x10 5+0x10 6+0x10 7+0x40"},
                firing=0,
                why="a serverless worker that is reused after idle times",
            ),
        ),
    ),
)
