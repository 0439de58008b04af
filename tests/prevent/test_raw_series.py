"""Rules on series as exporters really give them, where they differ from the series of an alert's own cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from leadsman.catalogue import every_alert
from leadsman.prevent.alerts.coverage import coverage
from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.rules import rule_document

if TYPE_CHECKING:
    from pathlib import Path

HOST = 'instance="broker-1:9100",job="node"'
STATES = 'node_tcp_connection_states{{{host},state="{state}"}}'
ONE_MOMENT, MANY_MOMENTS, ALL_THE_TIME = "_x40 3 stale _x80", "_x10" + " 1 stale _x2" * 20, "_x40 3x80"
"""node_exporter exports no series of a state that no connection is in: Prometheus takes the series for stale. Samples
are 15 s apart."""


def rules_and_test(samples: str, firing: int, folder: Path) -> Path:
    """Write the alert's rules, and a test file with these connections in SYN_RECV."""
    single = coverage([Exporter.JMX], every_alert()).only("HostConnectionsStuckInSynRecv")
    (folder / "rules.yml").write_text(yaml.safe_dump(rule_document(single)))
    series = {
        STATES.format(host=HOST, state="syn_recv"): samples,
        STATES.format(host=HOST, state="listen"): "12x120",
        f"node_netstat_TcpExt_ListenOverflows{{{HOST}}}": "0x120",
    }
    expected = {
        "expr": 'max_over_time(count(ALERTS{alertname="HostConnectionsStuckInSynRecv",alertstate="firing"})[20m:15s])',
        "eval_time": "20m",
        "exp_samples": [{"labels": "{}", "value": 1}] if firing else [],
    }
    document = {
        "rule_files": ["rules.yml"],
        "evaluation_interval": "15s",
        "group_eval_order": [group["name"] for group in rule_document(single)["groups"]],
        "tests": [
            {
                "interval": "15s",
                "input_series": [{"series": name, "values": values} for name, values in series.items()],
                "promql_expr_test": [expected],
            }
        ],
    }
    (folder / "tests.yml").write_text(yaml.safe_dump(document))
    return folder / "tests.yml"


@pytest.mark.parametrize(("samples", "firing"), [(ONE_MOMENT, 0), (MANY_MOMENTS, 0), (ALL_THE_TIME, 1)])
def test_connections_in_syn_recv_are_reported_only_where_they_stay(
    samples: str, firing: int, tmp_path: Path, program
) -> None:
    done = program("promtool", "test", "rules", rules_and_test(samples, firing, tmp_path))

    assert done.returncode == 0, done.stdout + done.stderr
