"""What CONTRIBUTING.md promises: each addition is new files alone. Each is made in a copy of the tree and run there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

SRC = Path(__file__).parents[1] / "src"
READ = """
import sys
from datetime import UTC
from leadsman.pipeline.request import find_input, read_small_input

events = read_small_input(find_input([sys.argv[1]])).events
for name, subject, labels in zip(*(events.column(each).to_pylist() for each in ("name", "subject", "labels"))):
    print(name, subject, dict(labels or ()))
"""
WRITE = """
import sys
from leadsman.model import Diagnosis, Verdict
from leadsman.report.output_format import find_format

find_format(sys.argv[1]).write([Diagnosis(path="logs", verdicts={"producer_id_leak": Verdict.ABSENT})], sys.stdout)
"""
LINE = "2020-12-20 08:00:00,000 ERROR acme-kafka lost the connection to broker 3 with 2 requests in flight\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the sources without the recordings. What Python has compiled is valid there too."""
    ignore = shutil.ignore_patterns("recorded")
    return Path(shutil.copytree(SRC, tmp_path / "src", ignore=ignore))


def add(tree: Path, place: str, text: str) -> None:
    """Write a new file; an addition changes none."""
    path = tree / "leadsman" / place
    assert path.parent.is_dir()
    assert not path.exists()
    path.write_text(dedent(text), encoding="utf-8")


def run(tree: Path, *words: str, code: int = 0) -> str:
    """What a command prints that runs in the copy."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(
        [sys.executable, *words], cwd=tree, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def events_of(tree: Path, text: str) -> str:
    """The events that the copy reads out of a log."""
    log = tree.parent / "app.log"
    log.write_text(text, encoding="utf-8")
    return run(tree, "-c", READ, str(log))


def test_a_log_format_is_one_new_file(tree: Path) -> None:
    lines = "".join(f"<<pod-{number % 3}>> 2020-12-20 08:00:{number:02},000 INFO ready\n" for number in range(30))
    before = events_of(tree, lines)

    add(
        tree,
        "telemetry/formats/text_logs/acme_shipper.py",
        '''
        """Acme's log shipper: `<<pod>>` before each line."""

        import re

        from leadsman.telemetry.line_records.interleaved import Prefix
        from leadsman.telemetry.line_records.prefix_format import prefix_format

        PREFIX = Prefix("Acme shipper", re.compile(rb"<<(?P<id>[\\w-]+)>> "), is_stripped=True)
        FORMAT = prefix_format(PREFIX, priority=515)
        ''',
    )
    after = events_of(tree, lines)

    assert "Acme shipper" not in before
    assert "Acme shipper" in after
    assert "subject.active pod-2" in after


def test_a_client_is_one_new_file(tree: Path) -> None:
    before = events_of(tree, LINE)

    add(
        tree,
        "telemetry/sources/clients/acme_kafka.py",
        '''
        """acme-kafka, a client."""

        from leadsman import vocabulary as v
        from leadsman.telemetry.source import Signature, Source

        LOST = r"acme-kafka lost the connection to broker (?P<node>\\d+)\\b"
        SOURCE = Source("acme_kafka", "acme-kafka", "client", (Signature(v.CONNECTION_LOST, LOST),))
        ''',
    )
    after = events_of(tree, LINE)

    assert "connection.lost" not in before
    assert "connection.lost app.log {'node': '3'}" in after
    assert "'sources': 'acme_kafka'" in after


def test_a_client_is_a_symptom_source_without_a_change_of_any_card(tree: Path) -> None:
    add(
        tree,
        "telemetry/sources/clients/acme_kafka.py",
        '''
        """acme-kafka, a client."""

        from leadsman import vocabulary as v
        from leadsman.telemetry.source import Signature, Source

        SOURCE = Source("acme_kafka", "acme-kafka", "client", (Signature(v.CONNECTION_LOST, "acme-kafka lost"),))
        ''',
    )

    printed = run(
        tree,
        "-c",
        "from leadsman.catalogue import Mode\n"
        "from leadsman.telemetry.source import symptom_sources\n"
        "print(symptom_sources(Mode('idle_disconnect').card.symptom_events))",
    )

    assert "acme_kafka" in printed


def test_an_event_is_declared_by_the_source_that_reports_it(tree: Path) -> None:
    add(
        tree,
        "telemetry/sources/clients/acme_kafka.py",
        '''
        """acme-kafka, a client with an event of its own."""

        from leadsman.event_types.definition import EventType
        from leadsman.telemetry.source import Signature, Source

        PAUSED = EventType("acme.in_flight", "Requests in flight when a connection ended.", "how many", "requests")
        LOST = r"with (?P<value>\\d+) requests in flight"
        SOURCE = Source("acme_kafka", "acme-kafka", "client", (Signature(PAUSED.name, LOST),), events=(PAUSED,))
        ''',
    )

    assert "acme.in_flight app.log {'value': '2'}" in events_of(tree, LINE)


def test_a_mode_is_one_new_folder(tree: Path) -> None:
    before = {path: path.read_bytes() for path in tree.rglob("*.py")}

    run(tree, "-m", "leadsman", "new-mode", "expired_certificate")

    assert "expired_certificate" in run(tree, "-m", "leadsman", "modes")
    assert {path: path.read_bytes() for path in before} == before


def test_a_rule_of_the_gate_is_one_new_file(tree: Path) -> None:
    add(
        tree,
        "modes/idle_disconnect/rules/acme_settings.py",
        '''
        """Acme's own setting."""

        from leadsman.gate.facts import Match
        from leadsman.gate.rule import Rule


        def _find(facts):
            for client in facts.resources:
                if client.number("acme.idle.ms") == 0:
                    yield Match(span=client.settings["acme.idle.ms"].span, message="acme.idle.ms=0")


        RULE = Rule(title="Acme", why="Acme", fix="Acme", find=_find)
        ''',
    )
    program = tree.parent / "orders.py"
    program.write_text("from kafka import KafkaProducer\nKafkaProducer(acme_idle_ms=0)\n", encoding="utf-8")

    assert "acme_settings" in run(tree, "-m", "leadsman", "check", "program", str(program), code=1)


def test_a_client_library_of_the_gate_is_one_new_file(tree: Path) -> None:
    add(
        tree,
        "gate/libraries/acme.py",
        '''
        """acme-kafka for Python."""

        from leadsman.gate.library import Library

        LIBRARY = Library(
            name="acme-kafka",
            languages=("python",),
            modules=("acme_kafka",),
            constructors={"AcmeProducer": "producer"},
            are_keywords=True,
        )
        ''',
    )
    program = tree.parent / "orders.py"
    program.write_text("from acme_kafka import AcmeProducer\nAcmeProducer(retries=0)\n", encoding="utf-8")

    assert "lost_without_retry" in run(tree, "-m", "leadsman", "check", "program", str(program), code=1)


def test_an_output_format_is_one_new_file(tree: Path) -> None:
    add(
        tree,
        "report/formats/verdicts.py",
        '''
        """`--format verdicts`: a line for each verdict."""

        from leadsman.report.output_format import OutputFormat


        def _write(diagnoses, stream):
            for diagnosis in diagnoses:
                for mode, verdict in diagnosis.verdicts.items():
                    stream.write(f"{mode}={verdict}\\n")


        FORMAT = OutputFormat(write=_write)
        ''',
    )

    printed = run(tree, "-c", WRITE, "verdicts")

    assert printed == "producer_id_leak=ABSENT\n"
    assert "verdicts" in run(tree, "-m", "leadsman", "diagnose", "--help")


def test_a_collector_is_one_new_file(tree: Path) -> None:
    add(
        tree,
        "collect/collectors/acme.py",
        '''
        """The state of an Acme proxy."""

        from contextlib import contextmanager

        from leadsman.collect.collector import Collector, Probe


        @contextmanager
        def probes():
            yield [Probe(file="acme/state.txt", source="state", argv=("echo", "ready"))]


        COLLECTOR = Collector(title="An Acme proxy", help="Its state.", parameters=(), probes=probes)
        ''',
    )

    run(tree, "-m", "leadsman", "collect", "acme", "--out", str(tree.parent / "capture"))

    assert "ready" in (tree.parent / "capture" / "acme" / "state.txt").read_text()


def test_a_remedy_is_one_new_file(tree: Path) -> None:
    add(
        tree,
        "modes/idle_disconnect/remedy.py",
        '''
        """Cures idle disconnects by a setting."""

        from contextlib import contextmanager

        from leadsman.remedies.remedy import Remedy, RemedyPlan, RemedyStatus, Step


        @contextmanager
        def plan():
            step = Step(description="Lower the idle limit.", command="set-limit", do=lambda: None)
            status = RemedyStatus(False, "540 s")
            yield RemedyPlan(title="A lower idle limit", why="Acme", steps=[step], check=lambda: status)


        REMEDIES = {"idle_disconnect": Remedy(title="A lower limit", help="Lower it.", parameters=(), plan=plan)}
        ''',
    )

    printed = run(tree, "-m", "leadsman", "remedy", "idle_disconnect")

    assert "set-limit" in printed


SIGNAL_FILE = '''
"""Requests of an Acme proxy."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

SIGNAL = Signal(
    meaning="requests that wait in an Acme proxy",
    readings={Exporter.JMX: ExporterMetric(metric="acme_waiting_requests", reference="Acme's manual")},
)
'''
ALERT_FILE = '''
"""An alert on an Acme proxy that stalls."""

from datetime import timedelta

from leadsman.prevent.alerts.alert import Alert, Case, Owner, Severity

ALERTS = (
    Alert(
        name="AcmeProxyStalled",
        summary="Acme is stalled",
        expression="leadsman:acme_waiting > 100",
        signals=("acme_waiting",),
        for_duration=timedelta(minutes=1),
        why_for_duration="A burst takes less.",
        severity=Severity.PAGE,
        owner=Owner.SERVICES,
        meaning="Requests wait.",
        action="Restart it.",
        command="leadsman diagnose LOGS",
        cases=(Case(name="broken", series={"acme_waiting{}": "200+0x60"}, firing=1),),
    ),
)
'''


def test_an_alert_and_its_signal_are_one_new_file_each(tree: Path) -> None:
    before = {path: path.read_bytes() for path in tree.rglob("*.py")}

    add(tree, "prevent/alerts/signals/acme_waiting.py", SIGNAL_FILE)
    add(tree, "modes/idle_disconnect/alerts/acme_proxy.py", ALERT_FILE)
    run(tree, "-m", "leadsman", "alerts", "--out", str(tree.parent / "alerts"))

    rules = (tree.parent / "alerts" / "leadsman.rules.yml").read_text()
    assert "alert: AcmeProxyStalled" in rules
    assert "expr: acme_waiting_requests" in rules
    assert {path: path.read_bytes() for path in before} == before


def test_a_mode_brings_its_alerts_in_its_own_folder(tree: Path) -> None:
    run(tree, "-m", "leadsman", "new-mode", "expired_certificate")
    (tree / "leadsman/modes/expired_certificate/alerts").mkdir()
    add(tree, "prevent/alerts/signals/acme_waiting.py", SIGNAL_FILE)
    add(tree, "modes/expired_certificate/alerts/__init__.py", '"""Alerts of this mode."""\n')
    add(tree, "modes/expired_certificate/alerts/acme_proxy.py", ALERT_FILE)

    run(tree, "-m", "leadsman", "alerts", "--out", str(tree.parent / "alerts"))

    assert "mode: expired_certificate" in (tree.parent / "alerts" / "leadsman.rules.yml").read_text()


def test_a_kind_of_notification_is_one_new_file(tree: Path) -> None:
    add(
        tree,
        "notify/kinds/acme_chat.py",
        '''
        """Acme's chat."""

        from leadsman.notify.kind import NotificationKind

        def _deliver(exchange, destination, notification):
            exchange.post(destination.url, {"say": notification.message.title})

        KIND = NotificationKind(deliver=_deliver, example="https://chat.acme.com/ROOM")
        ''',
    )

    assert "acme_chat" in run(tree, "-m", "leadsman", "diagnose", "--help")


DASHBOARD_FILE = '''
"""The dashboard of this mode."""

from leadsman.prevent.dashboards.dashboard import SHOWS_IT, Dashboard, DashboardPanel, DashboardRow

PANEL = DashboardPanel(
    title="Requests that wait",
    expression="sum by (cluster) (leadsman:acme_waiting)",
    unit="short",
    description="Requests that wait in an Acme proxy.",
    legend="{{cluster}}",
    alerts=("AcmeProxyStalled",),
)
DASHBOARD = Dashboard(title="Acme", description="Acme.", rows=(DashboardRow(title=SHOWS_IT, panels=(PANEL,)),))
'''


def test_a_mode_brings_its_dashboard_in_its_own_folder(tree: Path) -> None:
    run(tree, "-m", "leadsman", "new-mode", "expired_certificate")
    (tree / "leadsman/modes/expired_certificate/alerts").mkdir()
    before = {path: path.read_bytes() for path in tree.rglob("*.py")}
    add(tree, "prevent/alerts/signals/acme_waiting.py", SIGNAL_FILE)
    add(tree, "modes/expired_certificate/alerts/__init__.py", '"""Alerts of this mode."""\n')
    add(tree, "modes/expired_certificate/alerts/acme_proxy.py", ALERT_FILE)
    add(tree, "modes/expired_certificate/dashboard.py", DASHBOARD_FILE)

    run(tree, "-m", "leadsman", "dashboards", "--out", str(tree.parent / "grafana"))

    written = tree.parent / "grafana" / "dashboards" / "leadsman" / "leadsman-expired-certificate.json"
    assert "leadsman:acme_waiting" in written.read_text()
    assert {path: path.read_bytes() for path in before} == before
