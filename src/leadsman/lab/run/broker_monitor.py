"""Records the metrics, heaps and active producers of brokers while an experiment runs."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leadsman.java import jars, runtime
from leadsman.lab.brokers import metrics_agent
from leadsman.lab.processes.program import TOOL_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.lab.brokers.cluster import Broker, Cluster
    from leadsman.lab.run.recorder import Recorder

FLAGS = ("VM.flags",)
HEAP = ("GC.heap_info", "GC.class_histogram")


@dataclass(frozen=True, slots=True)
class BrokerMonitor:
    """Each call adds one observation to the capture, in the form of `leadsman collect`."""

    cluster: Cluster
    topic: str
    recorder: Recorder

    def metrics(self) -> None:
        """Scrape every broker that has an agent."""
        for broker in self.cluster.brokers:
            if broker.is_running and broker.metrics_port is not None:
                file, command = f"metrics/{_subject(broker)}.prom", "curl -s localhost:9404/metrics"
                text = metrics_agent.scrape(broker.metrics_port)
                self.recorder.section(file, text, source="metrics", command=command, subject=_subject(broker))

    def heaps(self, commands: Sequence[str] = HEAP) -> None:
        """Run jcmd on every broker's JVM. To count its objects the JVM collects its garbage first."""
        for broker in self.cluster.brokers:
            for jcmd_command in commands if broker.is_running else ():
                source = jcmd_command.rpartition(".")[2]
                file, command = f"jvm/{_subject(broker)}/{source}.txt", f"jcmd PID {jcmd_command}"
                text = run_jcmd(broker, jcmd_command)
                self.recorder.section(file, text, source=source, command=command, subject=_subject(broker))

    def producers(self, partitions: Sequence[int] = (0,)) -> None:
        """Describe the producers of the topic's partitions with Kafka's own tool."""
        class_path = jars.fetch_jars(f"kafka-{self.cluster.plan.kafka}")
        tool = runtime.java_command("org.apache.kafka.tools.TransactionsCommand", class_path, heap_mb=128)
        for partition in partitions:
            arguments = ["describe-producers", "--topic", self.topic, "--partition", str(partition)]
            text = _run_command([*tool, "--bootstrap-server", self.cluster.bootstrap, *arguments])
            command = f"kafka-transactions --bootstrap-server localhost:9092 {' '.join(arguments)}"
            self.recorder.section("kafka/producers.txt", text, source="producers", command=command, subject="cluster")

    def census(self) -> None:
        """Record metrics, producers and heaps."""
        self.metrics()
        self.producers()
        self.heaps()


def run_jcmd(broker: Broker, jcmd_command: str) -> str:
    """Return the output of a jcmd command on a broker's JVM."""
    assert broker.program is not None
    return _run_command([str(runtime.find_tool("jcmd")), str(broker.program.popen.pid), jcmd_command])


def _run_command(command: list[str]) -> str:
    timeout = TOOL_TIMEOUT.total_seconds()
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout).stdout


def _subject(broker: Broker) -> str:
    return f"broker-{broker.id}"
