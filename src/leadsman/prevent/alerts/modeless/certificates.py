"""Alerts on TLS certificates that end soon."""

from datetime import timedelta

from leadsman.prevent.alerts.alert import Alert, Case, Owner, Severity, Threshold

DAY = 86_400
SERIES = 'certificate_end{instance="broker-1:9093"}'


def _alert(name: str, severity: Severity, threshold: Threshold) -> Alert:
    near, far = f"{int((threshold.value - 1) * DAY)}+0x90", f"{int((threshold.value + 30) * DAY)}+0x90"
    return Alert(
        name=name,
        summary="The certificate of {{ $labels.instance }} ends in {{ $value | humanizeDuration }}",
        expression="leadsman:certificate_end - time() < $days * 86400",
        signals=("certificate_end",),
        thresholds=(threshold,),
        for_duration=timedelta(minutes=5),
        why_for_duration="One failed probe reports no certificate; five minutes are several probes.",
        severity=severity,
        owner=Owner.BROKERS,
        meaning="After the end no client that verifies certificates can connect.",
        action="Renew it, and let the brokers load it (kafka-configs --alter, or a restart in order).",
        command="leadsman explain idle_disconnect",
        misses="Client certificates, and listeners that are not probed.",
        cases=(
            Case(name="broken: it ends soon", series={SERIES: near}, firing=1),
            Case(name="cured: renewed", series={SERIES: f"{int(DAY)}+0x20 {far.partition('+')[0]}+0x90"}, firing=0),
            Case(name="near miss: it ends next year", series={SERIES: f"{400 * DAY}+0x90"}, firing=0),
        ),
    )


ALERTS = (
    _alert(
        "KafkaCertificateEndsSoon",
        Severity.TICKET,
        Threshold(
            name="days", value=21, why="Strimzi renews at 30 days and cert-manager at a third of 90: both are late"
        ),
    ),
    _alert(
        "KafkaCertificateEndsWithinDays",
        Severity.PAGE,
        Threshold(name="days", value=3, why="a weekend: who comes to work on Monday is in time"),
    ),
)
