"""Monitoring as in production: a metrics agent in brokers and Java clients, and the brokers' garbage collector logs.

The agent costs 0.5 s of a broker's start and answers in 0.1 s; JmxTool would be another JVM for each scrape, 2.2 s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.request import urlopen

from leadsman.java import jars
from leadsman.lab.processes.ports import ADDRESS, free_ports

if TYPE_CHECKING:
    from pathlib import Path

AGENT_SETTINGS = "agent.yml"
"""The agent's settings, in the broker's folder."""

GC_LOG = "gc/gc.log"

SCRAPE_TIMEOUT_SECONDS = 10

EXPOSED = r"""lowercaseOutputName: true
includeObjectNames:
  - "kafka.server:type=ReplicaManager,name=*"
  - "kafka.server:type=KafkaRequestHandlerPool,name=*"
  - "kafka.server:type=BrokerTopicMetrics,name=MessagesInPerSec"
  - "kafka.controller:type=KafkaController,name=*"
  - "kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec"
  - "kafka.cluster:type=Partition,name=UnderReplicated,*"
  - "kafka.cluster:type=Partition,name=UnderMinIsr,*"
  - "kafka.network:type=RequestMetrics,name=ErrorsPerSec,request=OffsetCommit,*"
  - "kafka.network:type=SocketServer,name=*"
rules:
  - pattern: 'kafka.(\w+)<type=(.+), name=(\w+)PerSec, request=(.+), error=(.+)><>Count'
    name: kafka_$1_$2_$3_total
    type: COUNTER
    labels:
      request: "$4"
      error: "$5"
  - pattern: 'kafka.cluster<type=Partition, name=(\w+), topic=(.+), partition=(.+)><>Value'
    name: kafka_cluster_partition_$1
    type: GAUGE
    labels:
      topic: "$2"
      partition: "$3"
  - pattern: 'kafka.controller<type=ControllerStats, name=(\w+)PerSec><>Count'
    name: kafka_controller_controllerstats_$1_total
    type: COUNTER
  - pattern: 'kafka.(\w+)<type=(.+), name=([^,]+)><>(?:Value|OneMinuteRate)'
    name: kafka_$1_$2_$3
    type: GAUGE
"""


def prepare(folder: Path) -> int:
    """Write the agent's settings into a broker's folder, and return a port for it."""
    (folder / AGENT_SETTINGS).write_text(EXPOSED, encoding="utf-8")
    (folder / GC_LOG).parent.mkdir(exist_ok=True)
    return free_ports(1)[0]


def options(port: int) -> tuple[str, ...]:
    """Return the options of the broker's JVM. The garbage collector log is as in Kafka's own start script."""
    (agent,) = jars.fetch_jars("metrics")
    return (f"-javaagent:{agent}={ADDRESS}:{port}:{AGENT_SETTINGS}", f"-Xlog:gc*:file={GC_LOG}:time,tags:filecount=0")


CLIENT_SETTINGS = "client-agent.yml"
CLIENT_EXPOSED = 'includeObjectNames: ["kafka.producer:*"]\n'
"""In the agent's default format, which the generated alert rules read."""


def client_environment(folder: Path, port: int) -> dict[str, str]:
    """Return the environment of a Java client with the agent at this port; its settings are written into `folder`."""
    (agent,) = jars.fetch_jars("metrics")
    (folder / CLIENT_SETTINGS).write_text(CLIENT_EXPOSED, encoding="utf-8")
    return {"JAVA_TOOL_OPTIONS": f"-javaagent:{agent}={ADDRESS}:{port}:{folder / CLIENT_SETTINGS}"}


def scrape(port: int) -> str:
    """Return what the agent exposes now, as Prometheus text."""
    with urlopen(f"http://{ADDRESS}:{port}/metrics", timeout=SCRAPE_TIMEOUT_SECONDS) as response:
        return str(response.read().decode())
