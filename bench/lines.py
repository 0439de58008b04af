# ruff: noqa: E501, ISC004 - log lines are as long as they are, and these are tables of them
"""What brokers and clients write: ordinary lines and failures, in their own words.

The texts are `str.format` templates over the values that `generate.draw` makes up for every line.
"""

from __future__ import annotations

from typing import NamedTuple


class LineTemplate(NamedTuple):
    """One kind of line. `share` is relative to its neighbours; `below` are the lines that follow it (a stack trace)."""

    share: float
    level: str
    logger: str
    text: str
    below: tuple[str, ...] = ()


TOPICS = (
    "orders", "payments", "clicks", "audit-log", "user.events", "inventory", "__consumer_offsets", "metrics_raw", "t",
    "dlq-orders", "shipments-eu", "kyc",
)  # fmt: skip
GROUPS = ("billing-svc", "fraud-detector", "etl-loader", "connect-sink-s3", "search-indexer", "notifier")

CONSUMER = "[Consumer clientId=consumer-{group}-{client}, groupId={group}] "
PRODUCER = "[Producer clientId=producer-{client}] "
RDKAFKA = "[thrd:kafka-{node}.prod:9092/{node}]: kafka-{node}.prod:9092/{node}: "

FRAMES = (
    "\tat org.apache.kafka.clients.producer.KafkaProducer.doSend(KafkaProducer.java:862)",
    "\tat org.apache.kafka.clients.consumer.internals.ConsumerCoordinator.sendOffsetCommitRequest(ConsumerCoordinator.java:1147)",
    "\tat org.apache.kafka.clients.NetworkClientUtils.sendAndReceive(NetworkClientUtils.java:110)",
    "\tat com.acme.orders.OrderPublisher.publish(OrderPublisher.java:77)",
    "\tat java.base/java.util.concurrent.ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java:1128)",
    "\tat java.base/java.lang.Thread.run(Thread.java:829)",
)
CONFIG = (
    "\tacks = -1", "\tbatch.size = 16384", "\tbootstrap.servers = [kafka-1.prod:9092, kafka-2.prod:9092]",
    "\tbuffer.memory = 33554432", "\tclient.id = producer-{client}", "\tconnections.max.idle.ms = 540000",
    "\tdelivery.timeout.ms = 120000", "\tenable.idempotence = true", "\tlinger.ms = 5", "\tmax.block.ms = 60000",
    "\trequest.timeout.ms = 30000", "\tretries = 2147483647", "\tsasl.mechanism = SCRAM-SHA-512",
    "\tsecurity.protocol = SASL_SSL", "\ttransaction.timeout.ms = 60000", "",
)  # fmt: skip

BROKER = (
    LineTemplate(16, "INFO", "kafka.log.Log",
                 "[Log partition={topic}-{partition}, dir=/var/lib/kafka/data-1] Rolled new log segment at offset {offset} in {size} ms."),
    LineTemplate(14, "INFO", "kafka.log.ProducerStateManager",
                 "[ProducerStateManager partition={topic}-{partition}] Writing producer snapshot at offset {offset}"),
    LineTemplate(12, "INFO", "kafka.coordinator.group.GroupCoordinator",
                 "[GroupCoordinator {broker}]: Member {group}-{partition}-{id} in group {group} has joined, generation {size}, "
                 "session timeout 10000 ms, {partition} members"),
    LineTemplate(8, "INFO", "kafka.coordinator.group.GroupMetadataManager",
                 "[GroupMetadataManager brokerId={broker}] Removed {node} expired offsets in {node} milliseconds."),
    LineTemplate(12, "DEBUG", "kafka.request.logger",
                 "Completed request:RequestHeader(apiKey=FETCH, apiVersion=11, clientId={group}-{partition}, correlationId={size}) -- "
                 "{{replica_id=-1,max_wait_time=500,min_bytes=1,max_bytes=52428800,isolation_level=0,session_id={offset},"
                 "topics=[{{topic={topic},partitions=[{{partition={partition},current_leader_epoch=-1,fetch_offset={offset},"
                 "partition_max_bytes=1048576}}]}}],rack_id=}},response:{{throttle_time_ms=0,error_code=0,session_id={offset}}} "
                 "from connection 10.2.{broker}.{partition}:9092-10.7.{partition}.{broker}:4{size};totalTime:0.{size},"
                 "securityProtocol:SASL_SSL,principal:User:{group},listener:SASL_SSL"),
    LineTemplate(12, "TRACE", "state.change.logger",
                 "[Broker id={broker}] Cached leader info PartitionState(topicName='{topic}', partitionIndex={partition}, "
                 "controllerEpoch=31, leader={node}, leaderEpoch={size}, isr=[{node}, {broker}], zkVersion={size}, "
                 "replicas=[{node}, {broker}], offlineReplicas=[]) for partition {topic}-{partition} in response to UpdateMetadata "
                 "request sent by controller 2 epoch 31 with correlation id {size}"),
    LineTemplate(8, "INFO", "kafka.cluster.Partition",
                 "[Partition {topic}-{partition} broker={broker}] {topic}-{partition} starts at leader epoch {size} from offset "
                 "{offset} with high watermark {offset}. Previous leader epoch was {size}."),
    LineTemplate(8, "INFO", "kafka.server.ReplicaFetcherThread",
                 "[ReplicaFetcher replicaId={broker}, leaderId={node}, fetcherId=1] Truncating partition {topic}-{partition} to "
                 "local high watermark {offset}"),
    LineTemplate(5, "WARN", "org.apache.kafka.common.network.Selector",
                 "[SocketServer brokerId={broker}] Unexpected error from /10.7.{partition}.{broker}; closing connection"),
    LineTemplate(5, "INFO", "kafka.log.Log",
                 "Deleting segment LogSegment(baseOffset={offset}, size={size}, lastModifiedTime=1613433600000) files "
                 "{offset:020d}.log.deleted"),
)  # fmt: skip
BROKER_FAILURES = (
    LineTemplate(3, "INFO", "kafka.cluster.Partition",
                 "[Partition {topic}-{partition} broker={broker}] Shrinking ISR from {broker},{node},9 to {broker}. Leader: "
                 "(highWatermark: {offset}, endOffset: {offset}). Out of sync replicas: (brokerId: {node}, endOffset: {offset})."),
    LineTemplate(2, "ERROR", "kafka.server.ReplicaManager",
                 "[ReplicaManager broker={broker}] Error processing append operation on partition {topic}-{partition}",
                 ("org.apache.kafka.common.errors.NotEnoughReplicasException: The size of the current ISR Set({broker}) is "
                  "insufficient to satisfy the min.isr requirement of 2 for partition {topic}-{partition}",)),
    LineTemplate(2, "WARN", "kafka.server.ReplicaFetcherThread",
                 "[ReplicaFetcher replicaId={broker}, leaderId={node}, fetcherId=0] Error in response for fetch request "
                 "(type=FetchRequest, replicaId={broker}, maxWait=500, minBytes=1, maxBytes=10485760, fetchData={{}})",
                 ("java.io.IOException: Connection to {node} was disconnected before the response was read", *FRAMES)),
    LineTemplate(1, "ERROR", "kafka.server.LogDirFailureChannel",
                 "Error while writing to checkpoint file /var/lib/kafka/data-1/recovery-point-offset-checkpoint",
                 ("java.io.IOException: No space left on device", *FRAMES[:4])),
    LineTemplate(2, "WARN", "kafka.server.ReplicaFetcherThread",
                 "[ReplicaFetcher replicaId={broker}, leaderId={node}, fetcherId=1] Partition {topic}-{partition} marked as failed: "
                 "NOT_LEADER_OR_FOLLOWER"),
    LineTemplate(1, "ERROR", "org.apache.kafka.common.utils.KafkaThread",
                 "Uncaught exception in thread 'kafka-request-handler-{node}'", ("java.lang.OutOfMemoryError: Java heap space", *FRAMES)),
    LineTemplate(3, "INFO", "org.apache.kafka.common.network.Selector",
                 "[SocketServer brokerId={broker}] Failed authentication with /10.7.{partition}.{broker} (SASL authentication failed)"),
)  # fmt: skip

CLIENT = (
    LineTemplate(25, "INFO", "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator",
                 CONSUMER + "Setting offset for partition {topic}-{partition} to the committed offset FetchPosition{{offset={offset}, "
                 "offsetEpoch=Optional.empty, currentLeader=LeaderAndEpoch{{leader=Optional[kafka-{node}.prod:9092 (id: {node} rack: "
                 "az1)], epoch={size}}}}}"),
    LineTemplate(22, "DEBUG", "org.apache.kafka.clients.producer.internals.Sender",
                 PRODUCER + "Sent produce request to node {node}: (type=ProduceRequest, acks=-1, timeout=30000, partitionRecords="
                 "([PartitionProduceData(index={partition}, records=MemoryRecords(size={size}))]), transactionalId=''"),
    LineTemplate(22, "INFO", "com.acme.orders.OrderService",
                 "Processed order {id} for customer {size} in {partition} ms, published to {topic}-{partition}@{offset}"),
    LineTemplate(17, "DEBUG", "org.apache.kafka.clients.consumer.internals.Fetcher",
                 CONSUMER + "Fetch READ_UNCOMMITTED at offset {offset} for partition {topic}-{partition} returned fetch data "
                 "PartitionData(partitionIndex={partition}, errorCode=0, highWatermark={offset}, lastStableOffset={offset})"),
    LineTemplate(13, "INFO", "org.apache.kafka.clients.consumer.internals.AbstractCoordinator",
                 CONSUMER + "Successfully synced group in generation Generation{{generationId={size}, "
                 "memberId='consumer-{group}-{client}-{id}', protocol='range'}}"),
    LineTemplate(1, "WARN", "com.acme.http.RetryClient", "Retrying call to inventory-service, timeout=3000, attempt {node}",
                 ("java.net.SocketTimeoutException: Read timed out", *FRAMES)),
    LineTemplate(0.1, "INFO", "org.apache.kafka.clients.producer.ProducerConfig", "ProducerConfig values: ", CONFIG),
)  # fmt: skip
NETWORK = "org.apache.kafka.clients.NetworkClient"
SENDER = "org.apache.kafka.clients.producer.internals.Sender"
COORDINATOR = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
CLIENT_FAILURES = (
    LineTemplate(2, "WARN", NETWORK,
                 PRODUCER + "Connection to node {node} (kafka-{node}.prod/10.2.0.{node}:9092) could not be established. "
                 "Broker may not be available."),
    LineTemplate(2, "INFO", NETWORK, PRODUCER + "Node {node} disconnected."),
    LineTemplate(2, "ERROR", "com.acme.orders.OrderPublisher", "Publish failed for order {id}",
                 ("org.apache.kafka.common.errors.TimeoutException: Expiring {node} record(s) for {topic}-{partition}:120000 ms has "
                  "passed since batch creation", *FRAMES)),
    LineTemplate(1, "ERROR", "com.acme.orders.OrderPublisher", "Publish failed",
                 ("org.apache.kafka.common.errors.TimeoutException: Topic {topic} not present in metadata after 60000 ms.", *FRAMES[:3])),
    LineTemplate(2, "WARN", NETWORK,
                 PRODUCER + "Error while fetching metadata with correlation id {size} : {{{topic}=LEADER_NOT_AVAILABLE}}"),
    LineTemplate(2, "WARN", SENDER,
                 PRODUCER + "Got error produce response with correlation id {size} on topic-partition {topic}-{partition}, retrying "
                 "(2147483646 attempts left). Error: NOT_LEADER_OR_FOLLOWER"),
    LineTemplate(1, "INFO", COORDINATOR,
                 CONSUMER + "Group coordinator kafka-{node}.prod:9092 (id: 214748364{node} rack: null) is unavailable or invalid due to "
                 "cause: coordinator unavailable. Rediscovery will be attempted."),
    LineTemplate(1, "ERROR", "com.acme.consumer.Loop", CONSUMER + "Offset commit failed",
                 ("org.apache.kafka.clients.consumer.CommitFailedException: Offset commit cannot be completed since the consumer is "
                  "not part of an active group", *FRAMES)),
    LineTemplate(1, "ERROR", "com.acme.orders.OrderPublisher", "send failed",
                 ("org.apache.kafka.common.errors.RecordTooLargeException: The message is {size} bytes when serialized which is larger "
                  "than 1048576", *FRAMES[:3])),
    LineTemplate(1, "ERROR", NETWORK,
                 PRODUCER + "Connection to node -1 (kafka-{node}.prod/10.2.0.{node}:9092) failed authentication due to: SASL "
                 "authentication failed"),
)  # fmt: skip

# The level stands for librdkafka's own (7 debug, 6 info, 4 warning, 3 error), the logger for its facility.
LIBRDKAFKA = (
    LineTemplate(30, "7", "FETCH", RDKAFKA + "Fetch topic {topic} [{partition}] at offset {offset} (v2)"),
    LineTemplate(
        20,
        "7",
        "MSGSET",
        RDKAFKA + "{topic} [{partition}]: MessageSet with {size} message(s) (MsgId 0, BaseSeq -1) delivered",
    ),
    LineTemplate(15, "7", "METADATA", "[thrd:main]: Topic #{size}/{size}: {topic} with {partition} partitions"),
    LineTemplate(
        15, "7", "HEARTBEAT", '[thrd:main]: GroupCoordinator/{node}: Heartbeat for group "{group}" generation id {size}'
    ),
    LineTemplate(
        10, "7", "CONNECT", RDKAFKA + "Connecting to ipv4#10.2.0.{node}:9092 (sasl_ssl) with socket {partition}"
    ),
    LineTemplate(10, "6", "REQTMOUT", RDKAFKA + "0 request(s) retried, request.timeout.ms=30000 error rate 0"),
)
LIBRDKAFKA_FAILURES = (
    LineTemplate(
        2,
        "3",
        "FAIL",
        RDKAFKA
        + "Connect to ipv4#10.2.0.{node}:9092 failed: Connection refused (after {partition}ms in state CONNECT)",
    ),
    LineTemplate(2, "3", "ERROR", "[thrd:app]: 3/3 brokers are down"),
    LineTemplate(2, "4", "REQTMOUT", RDKAFKA + "{node} request(s) timed out: disconnect (after {size}ms in state UP)"),
    LineTemplate(1, "3", "ERROR", "[thrd:app]: {topic} [{partition}]: Delivery failed: Local: Message timed out"),
    LineTemplate(
        1,
        "3",
        "FAIL",
        RDKAFKA + "SSL handshake failed: certificate unknown (after {partition}ms in state SSL_HANDSHAKE)",
    ),
    LineTemplate(2, "6", "FAIL", RDKAFKA + "Disconnected (after 600{partition:03d}ms in state UP)"),
)
