"""Partitions without a working leader for longer than an offset commit waits: consumers die, and stay dead."""

from leadsman.defaults import seconds
from leadsman.model import Benign, Cure, FailureMode, Harm, Layer, Link, Panel, Rival
from leadsman.vocabulary import (
    BOOTSTRAP_FAILED,
    BROKER_FENCED,
    COMMIT_FAILED,
    COMMIT_TIMED_OUT,
    CONNECTION_CLOSED,
    CONNECTION_LOST,
    CONNECTION_REFUSED,
    CONNECTION_SETUP_TIMED_OUT,
    CONSUMER,
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
    title="Consumers died: offset commits timed out during a failover",
    headline=(
        (
            "Leaderless partitions: {proven_dead:count} of {consumers:count consumer|consumers} died on a commit",
            "{timed_out:count consumer|consumers} timed out on a commit: no lost leader shown",
        ),
    ),
    impact=(
        "{dead:count consumer is|consumers are} dead and stay dead: {services}.",
        (
            "{abandoned:count group has no member left and is|groups have no member left and are} {behind:count "
            "record|records} behind in all, by the last listing ({listed_at:clock}).",
            "{abandoned:count group has no member left and is|groups have no member left and are} {behind:count "
            "record|records} behind in all.",
            "Their groups consume less, or nothing, until somebody starts them again.",
        ),
    ),
    do_now=(
        "Start the dead consumers again: {services}. They go on from their last committed offsets, so some records are "
        "processed twice.",
        (
            "Set {decided_by} above {outlasted:duration} in them before the next failover: clients had no working "
            "leader for that long, and commits wait {patience:duration} to {patience_longest:duration}.",
            "Set {decided_by} above {outlasted:duration} in them before the next failover: clients had no working "
            "leader for that long, and their commits wait {patience:duration}.",
            "Set {decided_by} well above {at_least:duration} in them before the next failover: clients had no working "
            "leader for at least that long, and their commits wait {patience:duration}.",
            "Find out for how long the leaders were away before you change {decided_by}: commits wait "
            "{unended:duration}, and nothing that was read shows when a leader worked again.",
        ),
        (
            "Leave broker {broker} as it is: the controller took it in again at {back_at:clock}, and it led partitions "
            "again by {again_at:clock}.",
            "Do not take broker {broker} away: the controller took it in again at {back_at:clock}. Check that it leads "
            "its partitions (kafka-topics --describe).",
            "Leave broker {broker} as it is: it led partitions again by {again_at:clock}.",
            "Check whether broker {broker} is back (kafka-topics --describe --under-replicated-partitions): nothing "
            "that was read shows it.",
        ),
        (
            "Have the host {migrated} terminated and restarted, not migrated live, at the next maintenance (see Cure).",
            "Ask the cloud what it did to the host {own_host} ({action}, {maintained_at:clock}).",
            "Find out why the heap of broker {broker} was full: it stood still for {paused:duration} in a garbage "
            "collection ({pause_kind}).",
            "Find out whether broker {broker} runs on the host {other_host}: the cloud reports its maintenance "
            "({action}) at {maintained_at:clock}. If it does not, look at the broker's GC log, and at the system log "
            "and the stolen time (%steal) of its host, from {unexplained_since:clock} on.",
            "Find out why broker {broker} did not answer from {unexplained_since:clock} on: no cause was read. Look at "
            "its GC log, the system log and the stolen time (%steal) of its host, and the cloud's maintenance events.",
        ),
    ),
    harm=(Harm.STALLED, Harm.DELAYED, Harm.DIED),
    summary=(
        "{dead:count} of {consumers:count consumer|consumers} ended when an offset commit timed out, and did not come "
        "back.",
        "{streams_dead:count of them runs|of them run} Kafka Streams: {dead_threads:count thread is|threads are} dead.",
        (
            "From the first failure of a client to the first working leader it took {settling:duration}.",
            "Clients had no working leader for at least {at_least:duration}; nothing that was read shows its end.",
        ),
        (
            "An offset commit times out after {patience:duration} ({hasty:count consumer|consumers}) to "
            "{patience_longest:duration} ({patient:count consumer|consumers}): {decided_by}.",
            "An offset commit times out after {patience:duration} ({decided_by}).",
        ),
        (
            "{healed:count consumer|consumers} recovered without help, at most {healed_after:duration} after the first "
            "failure of each."
        ),
        (
            "{went_on:count other consumer|other consumers} lost broker {broker} too, and no later line shows another "
            "failure."
        ),
        "The clients that died are of version {dead_version}.",
        (
            "The cloud reports maintenance of the broker's host {own_host} ({action}) at {maintained_at:clock}.",
            "Broker {broker} stood still for {paused:duration} in a garbage collection ({pause_kind}).",
            "A host's clock jumped by {jumped:duration} near the loss.",
            "A hypervisor kept {stolen_from} from running near the loss.",
        ),
    ),
    unsettled=(
        (
            "{dead:count consumer|consumers} ended when an offset commit timed out.",
            "Offset commits of {timed_out:count consumer|consumers} timed out.",
        ),
        (
            "Nothing that was read shows that the cluster had lost a leader: what one client cannot reach may be its "
            "own trouble. A controller's log of that time decides, or what a second consumer of the same broker wrote."
        ),
    ),
    absent=(
        "No consumer died of an offset commit that timed out while the cluster had lost a leader: no commit timed out, "
        "or its consumer went on, or the cluster was well at that time."
    ),
    blind="No line of a Kafka consumer was read: its end could not have been seen.",
    next="leadsman reproduce leaderless_partition",
    chain=(
        Link(
            id="leaderless",
            claim="A broker was lost or frozen, and its partitions had no working leader and coordinator.",
            observed=(
                (
                    "{affected:count consumer|consumers} could not use broker {broker}.",
                    "{affected:count consumer|consumers} could not commit.",
                ),
                (
                    "The controller removed broker {broker} from the live brokers {removed_after:duration} after the "
                    "first failure of a client; no shutdown had begun.",
                    "The controller fenced broker {broker} {fenced_after:duration} after the first failure of a "
                    "client; no shutdown had begun.",
                    "The controller took {fenced:count broker|brokers} for dead that had not begun a shutdown.",
                ),
                (
                    "Broker {broker} led {led_by_lost:count partition|partitions}.",
                    "The controller changed {moved:count partition|partitions} that the broker was in sync for: those "
                    "that it led got other leaders.",
                ),
                "A broker's session with ZooKeeper is {session:duration} long.",
                "{lacked:count consumer|consumers} timed out while partitions had no leader at all.",
                "{moved_away:count consumer was|consumers were} sent to another coordinator only seconds later.",
                (
                    "From the first failure of a client to the first working leader it took {settling:duration}.",
                    "Clients had no working leader for at least {at_least:duration}.",
                ),
                "A request waited {frozen:duration} on a connection that stayed open: the broker did not answer, and "
                "nobody reset the connection.",
                "Broker {broker} stood still for {paused:duration} in a garbage collection ({pause_kind}).",
                "A host's clock jumped by {jumped:duration}: the host had been stopped.",
                (
                    "The cloud reports maintenance of the broker's host {own_host} ({action}) at "
                    "{maintained_at:clock}.",
                    "The cloud reports maintenance of the host {maintained_host} ({action}) at "
                    "{maintained_at:clock}; nothing that was read ties this host to broker {broker}.",
                    "The cloud reports maintenance of a host ({action}) near that time.",
                ),
                "A hypervisor kept the processors of {stolen_from} from running for {stolen:duration} of "
                "{stolen_of:duration}, far more than before.",
            ),
            contradicted=(
                "The cluster was well when the commit timed out.",
                "{well:count other consumer|other consumers} used the same broker meanwhile.",
            ),
            not_visible=(
                "One client's own log does not show whether the broker was lost or only this client's way to it. "
                "Needed: the controller's log from before the time-out to after it, or what other consumers of the "
                "same broker wrote."
            ),
            settled_by="leadsman diagnose FOLDER_WITH_THE_LOGS_OF_THE_CONTROLLERS_AND_OF_OTHER_CONSUMERS",
        ),
        Link(
            id="impatient",
            claim="An offset commit timed out.",
            observed=(
                (
                    "Offset commits of {timed_out:count consumer|consumers} timed out: of {hasty:count} after "
                    "{patience:duration}, of {patient:count} after up to {patience_longest:duration} ({decided_by}).",
                    "Offset commits of {timed_out:count consumer|consumers} timed out after {patience:duration} "
                    "({decided_by}).",
                    "Offset commits of {timed_out:count consumer|consumers} timed out ({decided_by}).",
                ),
                "A consumer whose commits time out after {healed_patience:duration} recovered.",
            ),
            contradicted=("No commit timed out.",),
            not_visible=("No log shows whether a commit timed out.",),
            settled_by="leadsman diagnose FOLDER_WITH_THE_WHOLE_LOG_OF_THE_CONSUMER",
        ),
        Link(
            id="died",
            claim="The time-out ended the consumer, and nothing started it again.",
            observed=(
                "{dead:count consumer|consumers} ended.",
                (
                    "{streams_dead:count of them runs|of them run} Kafka Streams: "
                    "{dead_threads:count thread is|threads are} dead."
                ),
                "{stuck:count consumer|consumers} neither ended nor found a coordinator again.",
                "No later line shows a return to the group within 10 minutes.",
                (
                    "{abandoned:count group has no member left and is|groups have no member left and are} "
                    "{behind:count record|records} behind in all."
                ),
            ),
            contradicted=("The consumer went on, was started again, or ended of an exception of its own.",),
            not_visible=("No line shows what became of the consumer after the time-out.",),
            settled_by="leadsman diagnose FOLDER_WITH_THE_LOGS_OF_THE_CONSUMERS",
        ),
    ),
    rivals=(
        Rival(
            id="rolling_restart",
            cause="Brokers were restarted in order",
            ruled_out="The controller took a broker for dead that had not begun a shutdown.",
            stands="The broker began a controlled shutdown before, and the controller took no other for dead.",
            not_visible=(
                "Cannot be ruled out: no log shows a broker that was taken for dead or shut down. The controller's log "
                "of that time decides."
            ),
        ),
        Rival(
            id="own_exception",
            cause="The commit timed out although the cluster was well",
            ruled_out=("Commits of {timed_out:count consumer|consumers} timed out, and each while a leader was lost.",),
            stands=(
                "{without_loss:count consumer|consumers} timed out while the cluster was well: their own way to the "
                "broker, or their own host.",
            ),
            not_visible=(
                "Cannot be ruled out: of {unexplained:count consumer|consumers} nothing shows how the cluster was. The "
                "controller's log of that time decides.",
            ),
        ),
        Rival(
            id="rebalance_storm",
            cause="The group was rebalancing without end",
            ruled_out="No consumer that died had joined its group more than five times around the time-out.",
            stands="{storm:count consumer|consumers} that died had joined the group more than five times.",
            not_visible="Cannot be ruled out: no log shows when the consumers joined their groups (INFO).",
        ),
        Rival(
            id="not_enough_replicas",
            cause="Too few replicas were in sync to take a write",
            ruled_out=(
                (
                    "Refused writes ({unreplicated:count}) follow the loss of {fenced:count broker|brokers}.",
                    "{broker_logs:count log|logs} of brokers and controllers of that time were read; none shows a "
                    "refused write.",
                ),
            ),
            stands=(
                "{unreplicated:count line shows|lines show} writes refused because too few replicas were in sync, and "
                "no broker was fenced: a commit is such a write. Compare min.insync.replicas with the number of "
                "replicas.",
            ),
            not_visible="Cannot be ruled out: no broker's log of that time was read.",
            decisive=True,
        ),
    ),
    cure=(
        Cure(
            title="Let offset commits wait longer than a failover takes",
            why=(
                "Measure how long a failover takes first. retries and session.timeout.ms change "
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
            why=(
                "Where a live migration was the cause: a broker that is frozen keeps its connections and its session; "
                "one that ends is noticed."
            ),
            settings="# Google Cloud\nonHostMaintenance: TERMINATE\nautomaticRestart: true",
        ),
        Cure(
            title="Find out why the cluster noticed late",
            why=(
                f"The controller waits for the broker's session: {duration(KRAFT_SESSION)} in KRaft, "
                f"{duration(ZOOKEEPER_SESSION)} with ZooKeeper since 2.5, by default. Where it waited longer, a longer "
                "session is set, or the broker still reached the controller and only its clients did not reach it. Set "
                "longer sessions back:"
            ),
            settings=(
                "# the defaults\n"
                f"broker.session.timeout.ms={KRAFT_SESSION * 1000:.0f}\n"
                f"zookeeper.session.timeout.ms={ZOOKEEPER_SESSION * 1000:.0f}"
            ),
        ),
    ),
    explains=(
        BOOTSTRAP_FAILED,
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
    symptom_sources=(CONSUMER,),
    signs=(COMMIT_TIMED_OUT,),
    layer=Layer.CLUSTER,
    symptom="impatient",
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
        "Most consumers recovered by themselves; the Streams threads of one application died and stayed dead.",
        "More retries and longer sessions changed nothing; a longer default.api.timeout.ms did.",
        "Brokers are now terminated and restarted instead of migrated, and dead threads raise an alarm.",
    ),
)
