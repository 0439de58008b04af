"""What is looked at while an experiment runs: the metrics, heaps and producers of its brokers."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leadsman import jars, java
from leadsman.lab import metrics
from leadsman.lab.process import TOOL_WITHIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.lab.cluster import Broker, Cluster
    from leadsman.lab.record import Recorder

FLAGS = ("VM.flags",)
HEAP = ("GC.heap_info", "GC.class_histogram")


@dataclass(frozen=True, slots=True)
class Watch:
    """Looks when it is told to, and writes what it saw into the capture, as `leadsman collect` would."""

    cluster: Cluster
    topic: str
    recorder: Recorder

    def metrics(self) -> None:
        """Scrape every broker that has an agent."""
        for broker in self.cluster.brokers:
            if broker.running and broker.metrics_port is not None:
                file, command = f"metrics/{_name(broker)}.prom", "curl -s localhost:9404/metrics"
                text = metrics.scrape(broker.metrics_port)
                self.recorder.section(file, text, source="metrics", command=command, subject=_name(broker))

    def heaps(self, questions: Sequence[str] = HEAP) -> None:
        """Ask every broker's Java. To count its objects it collects its garbage first."""
        for broker in self.cluster.brokers:
            for question in questions if broker.running else ():
                source = question.rpartition(".")[2]
                file, command = f"jvm/{_name(broker)}/{source}.txt", f"jcmd PID {question}"
                text = asked(broker, question)
                self.recorder.section(file, text, source=source, command=command, subject=_name(broker))

    def producers(self, partitions: Sequence[int] = (0,)) -> None:
        """Ask for the producers of the topic's partitions with Kafka's own tool."""
        class_path = jars.fetch(f"kafka-{self.cluster.plan.kafka}")
        tool = java.command("org.apache.kafka.tools.TransactionsCommand", class_path, heap_mb=128)
        for partition in partitions:
            words = ["describe-producers", "--topic", self.topic, "--partition", str(partition)]
            text = _said([*tool, "--bootstrap-server", self.cluster.bootstrap, *words])
            command = f"kafka-transactions --bootstrap-server localhost:9092 {' '.join(words)}"
            self.recorder.section("kafka/producers.txt", text, source="producers", command=command, subject="cluster")

    def census(self) -> None:
        """Look at everything."""
        self.metrics()
        self.producers()
        self.heaps()


def asked(broker: Broker, question: str) -> str:
    """Return what a broker's Java answers to a jcmd command."""
    assert broker.program is not None
    return _said([str(java.tool("jcmd")), str(broker.program.popen.pid), question])


def _said(command: list[str]) -> str:
    within = TOOL_WITHIN.total_seconds()
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=within).stdout


def _name(broker: Broker) -> str:
    return f"broker-{broker.id}"
