"""A host that is gone: it inhibits the alerts on everything that ran on it."""

from datetime import timedelta

from leadsman.prevent.alerts.alert import Alert, Case, Owner, Severity

UP, INFO = 'up{instance="broker-3:9100",job="node"}', 'host_info{instance="broker-3:9100",job="node"}'

ALERTS = (
    Alert(
        name="HostUnreachable",
        summary="Host {{ $labels.instance }} has not answered Prometheus for a minute",
        expression="up == 0 and on (job, instance) last_over_time(leadsman:host_info[1h])",
        signals=("host_info",),
        for_duration=timedelta(minutes=1),
        why_for_duration="A host restarts in about a minute; four scrapes of 15 s.",
        severity=Severity.PAGE,
        owner=Owner.HOSTS,
        meaning="The host's own exporter is silent: the host, its network, or the exporter is gone.",
        action="Look for maintenance and failures of the instance.",
        command="leadsman collect cloud --out CAPTURE && leadsman diagnose CAPTURE",
        misses="A host whose exporter alone has ended is reported too.",
        cases=(
            Case(name="broken", series={UP: "1+0x20 0+0x60", INFO: "1+0x20 _x60"}, firing=1, at="30m"),
            Case(name="cured", series={UP: "1+0x20 0+0x10 1+0x60", INFO: "1+0x20 _x10 1+0x60"}, firing=0, at="40m"),
            Case(
                name="near miss: another program on the host ends",
                series={'up{instance="broker-3:9404",job="kafka"}': "1+0x20 0+0x60", INFO: "1+0x90"},
                firing=0,
                at="40m",
            ),
        ),
    ),
)
