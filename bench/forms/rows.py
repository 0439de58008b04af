"""The rows: every form, with its peer and its goal."""

from __future__ import annotations

from bench.forms import binaries, collectors, outputs, peers, plain_logs
from bench.forms.collectors import FleetLogs, by_line, lambdas
from bench.forms.form import Form, Goal, Write
from bench.production import serverless_forms as handed
from bench.production.serverless_wordings import FAILED, JAVA_3, KAFKA_PYTHON, RDKAFKA, RETRIED, TIMED_OUT

PLAIN = Goal(ratio=0.6)
JSON_LINES = Goal(ratio=0.8)
DOCUMENT = Goal(ratio=0.6)
INTERLEAVED = Goal(mb_s=60)
OUTPUT = Goal(ratio=0.5)
MANY_FILES = Goal(ratio=1 / 1.5)
"""No slower than one file by more than a half."""


ANY_CLIENT = ("application", "certificates", "cluster_id", "settings")
"""Sources whose lines any client's process can write."""

JAVA, RDKAFKA_LOG, PYTHON_LOG = (
    (*ANY_CLIENT, "java_client", "jvm_log"),
    (*ANY_CLIENT, "librdkafka"),
    (*ANY_CLIENT, "kafka_python"),
)
IN_LAMBDA = (*JAVA, "serverless")
BROKER = (*ANY_CLIENT, "broker", "host_resources", "java_client", "jvm_log")


def _text(
    name: str, write: Write, peer: str = peers.TEXT, goal: Goal = PLAIN, *, sources: tuple[str, ...] = JAVA
) -> Form:
    also = (peers.FOUR,) if peer == peers.TEXT else ()
    return Form(name=name, write=write, peer=peer, goal=goal, sources=sources, also=also)


def _lines(name: str, write: Write) -> Form:
    return Form(name=name, write=write, peer=peers.LINES, goal=JSON_LINES, also=(peers.DUCKDB, peers.POLARS))


def _document(name: str, write: Write, goal: Goal = DOCUMENT) -> Form:
    return Form(name=name, write=write, peer=peers.DOCUMENT, goal=goal, also=(peers.DUCKDB,))


def _output(name: str, write: Write, peer: str = peers.WORDS) -> Form:
    return Form(name=name, write=write, peer=peer, goal=OUTPUT)


_RDKAFKA, _PYTHON = lambdas(RDKAFKA, TIMED_OUT), lambdas(KAFKA_PYTHON, FAILED)

CLOUDWATCH = (
    _document("filter-log-events, Java", FleetLogs(handed.filter_log_events, 3.3)),
    _document("filter-log-events, librdkafka", FleetLogs(handed.filter_log_events, 3.3, _RDKAFKA)),
    _document("filter-log-events, kafka-python", FleetLogs(handed.filter_log_events, 3.3, _PYTHON)),
    _document("get-log-events, a file a worker", FleetLogs(handed.get_log_events, 1.6)),
    _document("CloudWatch Insights", FleetLogs(collectors.insights, 4.3)),
    _text("aws logs tail, Java", FleetLogs(handed.logs_tail, 1.5), goal=INTERLEAVED, sources=IN_LAMBDA),
    _text(
        "aws logs tail, kafka-python",
        FleetLogs(handed.logs_tail, 1.5, _PYTHON),
        goal=INTERLEAVED,
        sources=(*PYTHON_LOG, "serverless"),
    ),
    _text("CloudWatch's export to S3, gzip", FleetLogs(handed.s3_export, 1.2), peers.GZIP, sources=IN_LAMBDA),
    _text("get-log-events as text", FleetLogs(handed.query_text, 1.2), sources=IN_LAMBDA),
)
COLLECTORS = (
    _lines("Docker json-file, a file a worker", FleetLogs(handed.docker_json, 1.5)),
    _lines("Docker json-file, Sarama", plain_logs.sarama),
    _lines("Filebeat", FleetLogs(by_line(collectors.filebeat), 2.6)),
    _lines("Elasticsearch export", FleetLogs(by_line(collectors.kibana), 3.0)),
    _document("Elasticsearch search", FleetLogs(collectors.search, 2.8)),
    _lines("Loki, logcli", FleetLogs(by_line(collectors.logcli), 1.9)),
    _document("Loki, query_range", FleetLogs(collectors.loki_streams, 1.3)),
    _lines("journald JSON", FleetLogs(by_line(collectors.journald), 2.0)),
    _text("CRI", FleetLogs(by_line(collectors.cri), 1.3), sources=IN_LAMBDA),
    _text("syslog", FleetLogs(by_line(collectors.syslog), 1.4), goal=INTERLEAVED, sources=IN_LAMBDA),
    _text("Docker compose", FleetLogs(by_line(collectors.compose), 1.2), goal=INTERLEAVED, sources=IN_LAMBDA),
)
LOGS = (
    _text("Java, INFO, quiet", plain_logs.quiet),
    _text("Java, INFO, idle", plain_logs.idle),
    _text("Java, INFO, busy", plain_logs.busy(JAVA_3, RETRIED)),
    _text("Java, DEBUG", plain_logs.DEBUG),
    _text("librdkafka, busy", plain_logs.busy(RDKAFKA, TIMED_OUT, plain_logs.SHORT_WEIGHT), sources=RDKAFKA_LOG),
    _text("librdkafka, debug=all", plain_logs.RDKAFKA_DEBUG, sources=RDKAFKA_LOG),
    _text("kafka-python, busy", plain_logs.busy(KAFKA_PYTHON, FAILED, plain_logs.SHORT_WEIGHT), sources=PYTHON_LOG),
    _text("broker, INFO", plain_logs.broker_info, sources=BROKER),
    _text("broker, DEBUG", plain_logs.BROKER_DEBUG, sources=BROKER),
    _lines("Java, JSON encoder", plain_logs.JSON_ENCODER),
    _text("storm of a million lines", plain_logs.STORM),
    _text("a million distinct errors", plain_logs.distinct_errors),
    _text("Java, INFO, gzip", plain_logs.compressed(".gz"), peers.GZIP),
    _text("Java, INFO, zstd", plain_logs.compressed(".zst"), peers.ZSTD),
    Form(
        name="10,000 small files",
        write=plain_logs.small_files,
        twin=plain_logs.one_file,
        peer=peers.ONE_FILE,
        goal=MANY_FILES,
    ),
)
OUTPUTS = (
    _output("kafka-topics", outputs.topics),
    _output("kafka-consumer-groups", outputs.consumer_groups),
    _output("kafka-transactions describe-producers", outputs.describe_producers),
    _output("kafka-dump-log", outputs.dump_log),
    _document("kafka-log-dirs", outputs.log_dirs, OUTPUT),
    _output("class histogram", outputs.histograms),
    _output("ss -tan", outputs.ss),
    _output("ss -tinp", outputs.ss_inside),
    _output("ip -s neigh", outputs.ip_neigh),
    _document("ip -j neigh", outputs.ip_neigh_json, OUTPUT),
    _output("arp -an", outputs.arp),
    _output("tcpdump -e", outputs.tcpdump),
    _output("Prometheus scrapes", outputs.scrapes, peers.SAMPLES),
    _document("Prometheus query_range", outputs.query_range, OUTPUT),
)
BINARIES = (
    _output("producer snapshots", binaries.snapshots, peers.ENTRIES),
    _output("heap dump", binaries.heap_dump, peers.INSTANCES),
    _output("packets (pcap)", binaries.packets, peers.PACKETS),
)
FORMS = (*CLOUDWATCH, *COLLECTORS, *LOGS, *OUTPUTS, *BINARIES)
