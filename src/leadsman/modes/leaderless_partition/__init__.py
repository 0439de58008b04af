"""Partitions without a working leader for longer than a commit has patience: consumers die, and stay dead."""

from leadsman.defaults import seconds
from leadsman.model import Benign, Cure, FailureMode, Harm, Layer, Link, Panel, Rival
from leadsman.vocabulary import (
    BROKER_FENCED,
    COMMIT_FAILED,
    COMMIT_TIMED_OUT,
    CONNECTION_CLOSED,
    CONNECTION_LOST,
    CONNECTION_REFUSED,
    CONNECTION_SETUP_TIMED_OUT,
    CONSUMER_ENDED,
    COORDINATOR_LOST,
    ISR_SHRUNK,
    LEADER_NOT_AVAILABLE,
    LEADERS_MOVED,
    NOT_LEADER,
    PRODUCE_RETRIED,
    REQUEST_TIMED_OUT,
    SESSION_EXPIRED,
)
from leadsman.words import duration

KRAFT_SESSION = seconds("broker", "broker.session.timeout.ms")
ZOOKEEPER_SESSION = seconds("broker", "zookeeper.session.timeout.ms", "3.9")

MODE = FailureMode(
    title="Consumers die of a commit that the cluster is too slow to take",
    harm=(Harm.STALLED, Harm.DELAYED, Harm.DIED),
    summary=(
        "{dead:count} of {consumers:count consumer|consumers} ended on a commit and did not come back.",
        "{dead_threads:count thread of Kafka Streams is|threads of Kafka Streams are} dead.",
        (
            "The cluster took {settling:duration} to settle; a commit had patience for {patience:duration}.",
            "A commit had patience for {patience:duration}.",
        ),
        "{healed:count consumer|consumers} healed without help, at most {healed_after:duration} after the loss.",
        "The clients that died are of version {dead_version}.",
        (
            "A cloud's maintenance of a host ({action}) lies near the loss.",
            "A host's clock leapt by {jumped:duration} near the loss.",
            "A hypervisor kept {stolen_from} from running near the loss.",
        ),
    ),
    unsettled=(
        "{dead:count consumer|consumers} ended on a commit that timed out, but this capture does not show whether a "
        "broker was missing.",
    ),
    absent="No consumer died of a commit that timed out while a broker was missing.",
    blind="No log of a consumer is in this capture: a thread that died could not have been seen.",
    next="leadsman reproduce leaderless_partition",
    chain=(
        Link(
            id="leaderless",
            claim="A broker was gone or frozen, and the cluster went on taking it for the leader and coordinator.",
            observed=(
                "Clients were sent to broker {broker} again and again, and it did not answer.",
                "The controller took it for dead only then, and gave {moved:count partition|partitions} other leaders.",
                "Its session with ZooKeeper was {session:duration} long.",
                "From the first failure to working leaders it took {settling:duration}.",
                "A request waited {frozen:duration} on a connection that stayed open: the broker was frozen, not gone.",
                "A host's clock leapt by {jumped:duration}: it had been stopped.",
                "A cloud's maintenance of a host ({action}) lies near.",
                "A hypervisor kept the processors of {stolen_from} from running for {stolen:duration} of "
                "{stolen_of:duration}, far more than before.",
            ),
            contradicted=("No broker was missing when the commit timed out: the log tells of none.",),
            not_visible=("The log does not reach back to before the time-out, at INFO.",),
            settled_by="leadsman diagnose FOLDER_WITH_THE_WHOLE_LOG_OF_THE_CONSUMER_AND_THE_CONTROLLERS",
        ),
        Link(
            id="impatient",
            claim="A commit was given up sooner than the cluster had settled.",
            observed=(
                (
                    "A commit was given up after {patience:duration} ({decided_by}).",
                    "A commit was given up ({decided_by}).",
                ),
                "A consumer that waits for {healed_patience:duration} came through.",
            ),
            contradicted=("No commit timed out.",),
            not_visible=("Nothing shows how long a broker was missing before the commit timed out.",),
            settled_by="leadsman diagnose FOLDER_WITH_THE_WHOLE_LOG_OF_THE_CONSUMER",
        ),
        Link(
            id="died",
            claim="The time-out ended the consumer, and nothing started it again.",
            observed=(
                "{dead:count consumer|consumers} ended.",
                "{dead_threads:count thread of Kafka Streams|threads of Kafka Streams} among them.",
                "{stuck:count consumer|consumers} neither ended nor went on.",
                "Nothing in the log tells of a consumer that joined the group again.",
                (
                    "{abandoned:count group has|groups have} no member left and lag, up to "
                    "{behind:count record records} in a partition."
                ),
            ),
            contradicted=("The consumer went on.",),
            not_visible=("No log shows what became of the consumer.",),
            settled_by="leadsman diagnose FOLDER_WITH_THE_LOGS_OF_THE_CONSUMERS",
        ),
    ),
    rivals=(
        Rival(
            id="rolling_restart",
            cause="Brokers were restarted in order",
            ruled_out="The controller lost a broker that did not say goodbye.",
            stands="Brokers shut down in order, and the controller took none for dead.",
            not_visible="Not ruled out: no broker's or controller's log is in the capture.",
        ),
        Rival(
            id="own_exception",
            cause="The commit timed out although no broker was missing",
            ruled_out="Every commit that timed out follows the loss of a broker.",
            stands="{without_loss:count consumer|consumers} gave up a commit although no broker was missing.",
            not_visible="Not ruled out.",
        ),
        Rival(
            id="rebalance_storm",
            cause="The group was rebalancing without end",
            ruled_out="No consumer that died had joined its group more than five times.",
            stands="{storm:count consumer|consumers} that died had joined the group again and again.",
            not_visible="Not ruled out.",
        ),
        Rival(
            id="not_enough_replicas",
            cause="Too few replicas were in sync to take a write",
            ruled_out="No write was refused for want of replicas, or a broker was lost beside it.",
            stands=(
                "{unreplicated:count line|lines} tell of writes refused for want of replicas in sync, and no broker "
                "was lost: a commit is such a write. Compare min.insync.replicas with the number of replicas."
            ),
            not_visible="Not ruled out.",
            decisive=True,
        ),
    ),
    cure=(
        Cure(
            title="Give a commit more patience than the cluster needs to settle",
            why=(
                "Measure the settling time first. retries and session.timeout.ms change "
                "nothing: a commit is tried again until this time is over."
            ),
            settings="# consumers, and Streams before 2.8\ndefault.api.timeout.ms=300000\n"
            "# Streams since 2.8\ntask.timeout.ms=300000",
        ),
        Cure(
            title="Supervise the threads",
            why=(
                "A JVM outlives its dead threads. Replace them (since 2.8 a StreamsUncaughtExceptionHandler that "
                "answers REPLACE_THREAD), or end the process so that its platform starts it again; and alert on the "
                "state, not on the process."
            ),
            settings=(
                "// Streams since 2.8\nstreams.setUncaughtExceptionHandler(\n"
                "    e -> StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse.REPLACE_THREAD);"
            ),
        ),
        Cure(
            title="Terminate and restart brokers instead of migrating them live",
            why=("A broker that is frozen keeps its connections and its session; one that ends is noticed."),
            settings="# Google Cloud\nonHostMaintenance: TERMINATE\nautomaticRestart: true",
        ),
        Cure(
            title="Let the cluster notice sooner",
            why=(
                f"The session is what the cluster waits for: {duration(KRAFT_SESSION)} in KRaft, "
                f"{duration(ZOOKEEPER_SESSION)} with ZooKeeper since 2.5."
            ),
            settings=(
                f"broker.session.timeout.ms={KRAFT_SESSION * 1000:.0f}\n"
                f"zookeeper.session.timeout.ms={ZOOKEEPER_SESSION * 1000:.0f}"
            ),
        ),
    ),
    explains=(
        BROKER_FENCED,
        COMMIT_TIMED_OUT,
        COMMIT_FAILED,
        CONSUMER_ENDED,
        COORDINATOR_LOST,
        CONNECTION_LOST,
        CONNECTION_REFUSED,
        CONNECTION_SETUP_TIMED_OUT,
        REQUEST_TIMED_OUT,
        SESSION_EXPIRED,
        ISR_SHRUNK,
        LEADERS_MOVED,
        NOT_LEADER,
        LEADER_NOT_AVAILABLE,
        PRODUCE_RETRIED,
    ),
    benign=(
        Benign(
            CONNECTION_CLOSED,
            "A connection ended while nothing was under way on it; the client opens another. Harmless by itself.",
        ),
    ),
    symptom_sources=("java_client", "librdkafka", "kafka_python", "aiokafka", "sarama", "kafkajs", "franz_go"),
    signs=(COMMIT_TIMED_OUT,),
    layer=Layer.CLUSTER,
    panels=(
        Panel(
            id="leaders",
            title="Partitions that each broker leads",
            marks=("settling", "election", "preferred election", "new controller"),
            wide=True,
        ),
        Panel(id="imbalance", title="Imbalance: most partitions led by one broker, in averages"),
    ),
    settings=(
        ("consumer", "default.api.timeout.ms"),
        ("streams", "task.timeout.ms"),
        ("consumer", "request.timeout.ms"),
        ("consumer", "session.timeout.ms"),
        ("streams", "retries"),
        ("broker", "broker.session.timeout.ms"),
        ("broker", "zookeeper.session.timeout.ms"),
    ),
    story=(
        "A cloud moved the host of a broker to another machine while it ran; for minutes the broker answered nobody.",
        "Its partitions had no working leader, though every tool went on naming one.",
        "Most consumers healed by themselves; the Streams threads of one application died and stayed dead.",
        "More retries and longer sessions changed nothing; a longer default.api.timeout.ms did.",
        "Brokers are now terminated and restarted instead of migrated, and dead threads raise an alarm.",
    ),
)
