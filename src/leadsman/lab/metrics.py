"""What production's brokers are watched by, for the lab's: a metrics agent, and the log of the garbage collector.

The agent costs 0.5 s of a broker's start and answers in 0.1 s; JmxTool would be another Java for each look, 2.2 s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.request import urlopen

from leadsman import jars
from leadsman.lab.ports import ADDRESS, free_ports

if TYPE_CHECKING:
    from pathlib import Path

AGENT = "agent.yml"
"""The agent's settings, in the broker's folder."""

GC_LOG = "gc/gc.log"

ANSWER_SECONDS = 10

EXPOSED = r"""lowercaseOutputName: true
includeObjectNames:
  - "kafka.server:type=ReplicaManager,name=*"
  - "kafka.server:type=KafkaRequestHandlerPool,name=*"
  - "kafka.server:type=BrokerTopicMetrics,name=MessagesInPerSec"
  - "kafka.controller:type=KafkaController,name=*"
  - "kafka.network:type=SocketServer,name=*"
rules:
  - pattern: 'kafka.(\w+)<type=(.+), name=(.+)><>(?:Value|OneMinuteRate)'
    name: kafka_$1_$2_$3
    type: GAUGE
"""


def prepare(folder: Path) -> int:
    """Write the agent's settings into a broker's folder, and return a port for it."""
    (folder / AGENT).write_text(EXPOSED, encoding="utf-8")
    (folder / GC_LOG).parent.mkdir(exist_ok=True)
    return free_ports(1)[0]


def options(port: int) -> tuple[str, ...]:
    """Return the options of the broker's Java. The log of the collector is as Kafka's own start script has it."""
    (agent,) = jars.fetch("metrics")
    return (f"-javaagent:{agent}={ADDRESS}:{port}:{AGENT}", f"-Xlog:gc*:file={GC_LOG}:time,tags:filecount=0")


def scrape(port: int) -> str:
    """Return what the agent exposes now, as Prometheus text."""
    with urlopen(f"http://{ADDRESS}:{port}/metrics", timeout=ANSWER_SECONDS) as answer:
        return str(answer.read().decode())
