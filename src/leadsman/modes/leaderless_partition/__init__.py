"""Leaderless partitions: an offset commit times out during a failover, and its consumer crashes for good."""

from leadsman.kafka_defaults import seconds
from leadsman.model import Alternative, BenignLine, ChartWords, Cure, FailureMode, Harm, Layer, Link, Panel
from leadsman.vocabulary import (
    BOOTSTRAP_FAILED,
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
    title="Consumers crashed: offset commit timed out during failover",
    what_happens=(
        "After a broker becomes unavailable, partitions keep their dead leader and coordinator for longer than an "
        "offset commit waits. Consumers crash and stay dead when the cluster has recovered."
    ),
    headline=(
        (
            "{proven_dead:count} of {consumers:count consumer|consumers} crashed: offset commit timed out",
            "{timed_out:count consumer|consumers}: offset commit timed out, no failover shown",
        ),
    ),
    impact=(
        "{dead:count consumer has|consumers have} crashed and did not restart: {services}.",
        (
            "{groups_without_members:count group has no member left and lags|groups have no member left and lag} "
            "{lag_records:count record|records} behind in all, by the last listing ({listed_at:clock}).",
            "{groups_without_members:count group has no member left and lags|groups have no member left and lag} "
            "{lag_records:count record|records} behind in all.",
            "The group of a crashed consumer consumes less, or nothing, until the consumer is restarted.",
        ),
    ),
    do_now=(
        "Restart the {dead:count crashed consumer|crashed consumers}: {services}. A restarted consumer continues from "
        "its last committed offset, so some records are processed twice.",
        (
            "Set {timeout_setting}={recommended_timeout_ms} (above the {failover_over_timeout:duration} of this "
            "failover) in your consumers before the next failover: commits time out after {commit_timeout:duration} to "
            "{longest_commit_timeout:duration}.",
            "Set {timeout_setting}={recommended_timeout_ms} (above the {failover_over_timeout:duration} of this "
            "failover) in your consumers before the next failover: commits time out after {commit_timeout:duration}.",
            "Set {timeout_setting}={recommended_timeout_ms} in your consumers before the next failover: this failover "
            "took at least {failover_at_least:duration}, and commits time out after {commit_timeout:duration}.",
            "Set {timeout_setting}={recommended_timeout_ms} in your consumers before the next failover: commits with a "
            "timeout of {expired_timeout:duration} expired too, so the group coordinator was unavailable for longer "
            "than the partition leaders.",
            "Find out how long the failover took before you change {timeout_setting}: commits time out after "
            "{unknown_failover_timeout:duration}, and the data do not show when a leader worked again.",
        ),
        (
            "Leave broker {broker} as it is: the controller unfenced broker {broker} at {returned_at:clock}, and the "
            "broker led partitions again by {leading_again_at:clock}.",
            "Do not remove broker {broker}: the controller unfenced broker {broker} at {returned_at:clock}. Check that "
            "the broker leads its partitions (kafka-topics --describe).",
            "Leave broker {broker} as it is: the broker led partitions again by {leading_again_at:clock}.",
            "Check whether broker {broker} is back now (kafka-topics --describe --under-replicated-partitions): the "
            "controller fenced broker {broker} at {fenced_since:clock}, and no later line of the capture shows that "
            "the broker is back.",
            "Check whether broker {broker} is back (kafka-topics --describe --under-replicated-partitions): the data "
            "do not show it.",
        ),
        (
            "Let the cloud terminate and restart the host {migrated} at the next maintenance, not migrate it live (see "
            "Cure).",
            "Ask the cloud provider about the event {action} on the host {broker_host} at {maintenance_at:clock}.",
            "Find out why the heap of broker {broker} was full: a garbage collection ({gc_kind}) stopped the broker "
            "for {gc_pause:duration}.",
            "Find out whether broker {broker} runs on the host {possible_host}: the cloud reports maintenance "
            "({action}) of that host at {maintenance_at:clock}. If not, check the broker's GC log, and the system log "
            "and the CPU steal (%steal) of its host, from {unexplained_since:clock} on.",
            "Find out why broker {broker} did not answer from {unexplained_since:clock} on: the data show no cause. "
            "Check its GC log, the system log and the CPU steal (%steal) of its host, and the cloud's maintenance "
            "events.",
        ),
    ),
    harm=(Harm.STALLED, Harm.DELAYED, Harm.DIED),
    summary=(
        "{dead:count} of {consumers:count consumer|consumers} crashed when an offset commit timed out, and did not "
        "restart.",
        "{streams_dead:count of them runs|of them run} Kafka Streams: {dead_threads:count thread is|threads are} dead.",
        (
            "The failover took {failover_seconds:duration}, from the first failed request of a client to the first "
            "working leader.",
            "The failover took at least {failover_at_least:duration}; the data do not show its end.",
        ),
        (
            "Offset commits time out after {commit_timeout:duration} in {with_shortest_timeout:count "
            "consumer|consumers} and after up to {longest_commit_timeout:duration} in {with_longer_timeout:count "
            "consumer|consumers} ({timeout_setting}).",
            "Offset commits time out after {commit_timeout:duration} ({timeout_setting}).",
        ),
        (
            "{recovered:count consumer|consumers} recovered without help, within {recovered_after:duration} of the "
            "first failure."
        ),
        (
            "{continued:count other consumer|other consumers} lost broker {broker} too, and no later line shows "
            "another failure."
        ),
        "The crashed consumers use Kafka client {dead_version}.",
        (
            "The cloud reports maintenance ({action}) of the broker's host {broker_host} at {maintenance_at:clock}.",
            "A garbage collection ({gc_kind}) stopped broker {broker} for {gc_pause:duration}.",
            "A host's clock jumped by {clock_jump:duration} near the loss of the broker.",
            "The host {steal_host} had high CPU steal near the loss of the broker.",
        ),
    ),
    unknown=(
        (
            "{dead:count consumer|consumers} crashed when an offset commit timed out.",
            "Offset commits of {timed_out:count consumer|consumers} timed out.",
        ),
        (
            "The data do not show that the cluster had lost a leader: one client's failure may be a problem of that "
            "client alone. The controller's log of that time decides, or the log of a second consumer of the same "
            "broker."
        ),
    ),
    absent=(
        "No consumer crashed because an offset commit timed out during a failover: no commit timed out, or the "
        "consumer recovered, or the cluster was healthy at that time."
    ),
    no_source="The capture holds no line of a Kafka consumer, so a crash would not be visible.",
    next=(
        "This runs brokers of its own on this machine and does not touch your cluster: "
        "leadsman reproduce leaderless_partition"
    ),
    chain=(
        Link(
            id="leaderless",
            claim="A broker failed or froze, and its partitions had no working leader and coordinator.",
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
                    "The controller fenced {fenced:count broker|brokers} without a shutdown before.",
                ),
                (
                    "Broker {broker} led {partitions_led:count partition|partitions}.",
                    "The controller changed {partitions_moved:count partition|partitions} whose ISR contained the "
                    "broker. The partitions that the broker led got new leaders.",
                ),
                "The session timeout between broker and ZooKeeper is {session:duration}.",
                "{saw_no_leader:count consumer|consumers} timed out while partitions had no leader at all.",
                (
                    "{given_new_coordinator:count consumer was|consumers were} sent to another coordinator only "
                    "seconds later."
                ),
                (
                    "The failover took {failover_seconds:duration}, from the first failed request of a client to the "
                    "first working leader.",
                    "The failover took at least {failover_at_least:duration}.",
                ),
                "A request waited {frozen:duration} on a connection that stayed open: the broker did not answer, and "
                "no reset closed the connection.",
                "A garbage collection ({gc_kind}) stopped broker {broker} for {gc_pause:duration}.",
                "A host's clock jumped by {clock_jump:duration}: the host had been stopped.",
                (
                    "The cloud reports maintenance ({action}) of the broker's host {broker_host} at "
                    "{maintenance_at:clock}.",
                    "The cloud reports maintenance ({action}) of the host {maintenance_host} at "
                    "{maintenance_at:clock}; the data do not show whether broker {broker} runs on this host.",
                    "The cloud reports maintenance of a host ({action}) near that time.",
                ),
                "The host {steal_host} had {steal_seconds:duration} of CPU steal in {steal_interval:duration}, much "
                "more than before.",
            ),
            contradicted=(
                "The cluster was healthy when the commit timed out.",
                "{unaffected:count other consumer|other consumers} used the same broker meanwhile.",
            ),
            not_visible=(
                "One client's own log does not show whether the broker failed or only this client's connection to "
                "the broker. Collect the controller's log from before the timeout to after it, or the logs of other "
                "consumers of the same broker."
            ),
            collect_command="leadsman diagnose FOLDER_WITH_THE_LOGS_OF_THE_CONTROLLERS_AND_OF_OTHER_CONSUMERS",
        ),
        Link(
            id="commit_timed_out",
            claim="An offset commit timed out.",
            observed=(
                (
                    "Offset commits of {timed_out:count consumer|consumers} timed out: of "
                    "{with_shortest_timeout:count consumer|consumers} after {commit_timeout:duration}, of "
                    "{with_longer_timeout:count consumer|consumers} after up to {longest_commit_timeout:duration} "
                    "({timeout_setting}).",
                    "Offset commits of {timed_out:count consumer|consumers} timed out after {commit_timeout:duration} "
                    "({timeout_setting}).",
                    "Offset commits of {timed_out:count consumer|consumers} timed out ({timeout_setting}).",
                ),
                (
                    "{dead:count} of them crashed, {timed_out_recovered:count} recovered without help.",
                    "{timed_out_recovered:count of them|of them} recovered without help.",
                    "{dead:count of them|of them} crashed.",
                ),
                "For {timed_out_unclear:count of them|of them} the capture shows neither a crash nor a recovery.",
                "A consumer whose commits time out after {recovered_timeout:duration} recovered.",
            ),
            contradicted=("No commit timed out.",),
            not_visible=("No log shows whether a commit timed out.",),
            collect_command="leadsman diagnose FOLDER_WITH_THE_WHOLE_LOG_OF_THE_CONSUMER",
        ),
        Link(
            id="died",
            claim="The timeout crashed the consumer, and the consumer was not restarted.",
            observed=(
                "{dead:count consumer|consumers} crashed.",
                (
                    "{streams_dead:count of them runs|of them run} Kafka Streams: "
                    "{dead_threads:count thread is|threads are} dead."
                ),
                "{stuck:count consumer|consumers} neither ended nor found a coordinator again.",
                (
                    "In the following {watched_seconds:duration} no line of the capture shows that a crashed consumer "
                    "joined its group again.",
                    "No later line of the capture shows that a crashed consumer joined its group again.",
                ),
                (
                    "{groups_without_members:count group has no member left and lags|groups have no member left and "
                    "lag} {lag_records:count record|records} behind in all."
                ),
            ),
            contradicted=("The consumer recovered, was restarted, or ended because of an exception of its own.",),
            not_visible=("No line shows whether the consumer survived the timeout.",),
            collect_command="leadsman diagnose FOLDER_WITH_THE_LOGS_OF_THE_CONSUMERS",
        ),
    ),
    alternatives=(
        Alternative(
            id="rolling_restart",
            cause="Brokers were restarted in order",
            distinguished_by="leaders move in order, and no commit waits for long",
            ruled_out="The controller fenced a broker that had not begun a shutdown.",
            observed="The broker had begun a controlled shutdown, and the controller fenced no other broker.",
            not_visible=(
                "Cannot be ruled out: no log shows a broker that was fenced or shut down. The controller's log of that "
                "time decides."
            ),
        ),
        Alternative(
            id="healthy_cluster",
            cause="The commit timed out although the cluster was healthy",
            distinguished_by="no broker was unavailable when the commit timed out",
            ruled_out=(
                "Commits of {timed_out:count consumer|consumers} timed out, all of them while a leader was missing.",
            ),
            observed=(
                "Commits of {without_broker_loss:count consumer|consumers} timed out while the cluster was healthy: "
                "check their connection to the broker and their own host.",
            ),
            not_visible=(
                "Cannot be ruled out: for {unexplained:count consumer|consumers} the data do not show the state of the "
                "cluster. The controller's log of that time decides.",
            ),
        ),
        Alternative(
            id="rebalance_storm",
            cause="The group was rebalancing continuously",
            distinguished_by="the group does not settle for long",
            ruled_out="No crashed consumer had joined its group more than five times around the timeout.",
            observed=(
                "{rebalance_storm:count crashed consumer|crashed consumers} had joined the group more than five times."
            ),
            not_visible="Cannot be ruled out: no log shows when the consumers joined their groups (level INFO).",
        ),
        Alternative(
            id="not_enough_replicas",
            cause="Too few in-sync replicas for a write",
            distinguished_by="writes are refused although the partitions have leaders",
            ruled_out=(
                (
                    "Refused writes ({refused_writes:count}) follow the loss of {fenced:count broker|brokers}.",
                    "{broker_logs:count log|logs} of brokers and controllers cover that time and show no refused "
                    "write.",
                ),
            ),
            observed=(
                "{refused_writes:count line shows|lines show} writes refused because of too few in-sync replicas, and "
                "no broker was fenced. An offset commit is such a write. Compare min.insync.replicas with the number "
                "of replicas.",
            ),
            not_visible="Cannot be ruled out: no broker's log of that time was read.",
            decisive=True,
        ),
    ),
    cure=(
        Cure(
            title="Let offset commits wait longer than a failover takes",
            why=(
                "Measure first how long a failover takes. retries and session.timeout.ms change nothing: the client "
                "retries a commit until this timeout."
            ),
            settings="# consumers, and Streams before 2.8\ndefault.api.timeout.ms=300000\n"
            "# Streams since 2.8 (2.7 has this setting, without effect)\ntask.timeout.ms=300000",
        ),
        Cure(
            title="Supervise the threads",
            why=(
                "A JVM keeps running without its dead threads. Replace the threads (since 2.8 a "
                "StreamsUncaughtExceptionHandler that returns REPLACE_THREAD), or end the process so that its platform "
                "restarts it. Alert on the state of the threads, not on the process."
            ),
            settings=(
                "// Streams since 2.8\nstreams.setUncaughtExceptionHandler(\n"
                "    e -> StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse.REPLACE_THREAD);"
            ),
        ),
        Cure(
            title="Terminate and restart brokers instead of migrating them live",
            why=(
                "Where a live migration was the cause: a frozen broker keeps its connections and its session, so the "
                "controller fences it late. A broker that terminates moves its leaders first."
            ),
            settings="# Google Cloud\nonHostMaintenance: TERMINATE\nautomaticRestart: true",
        ),
        Cure(
            title="Find out why the controller fenced the broker late",
            why=(
                f"By default the controller waits for the broker's session: {duration(KRAFT_SESSION)} in KRaft "
                f"(broker.session.timeout.ms), {duration(ZOOKEEPER_SESSION)} with ZooKeeper since 2.5 "
                "(zookeeper.session.timeout.ms). If the controller waited longer, either a longer session is "
                "configured, or the broker still reached the controller while its clients did not reach the broker. "
                "Where a session timeout is longer than its default, set the default again:"
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
        BenignLine(
            CONNECTION_CLOSED,
            "A connection closed with no request in flight; the client opens another one.",
        ),
    ),
    symptom_events=(COMMIT_TIMED_OUT,),
    trigger_events=(COMMIT_TIMED_OUT,),
    layer=Layer.CLUSTER,
    symptom="commit_timed_out",
    chart_words=ChartWords(
        spans={"active": "active", "stalled": "could not use the lost broker, or could not commit"},
        instants={"died": "crashed", "recovered": "recovered without help"},
    ),
    panels=(
        Panel(
            id="leaders",
            title="Partitions that each broker leads",
            marks=("failover", "election", "preferred election", "new controller"),
            wide=True,
        ),
        Panel(id="imbalance", title="Imbalance: most partitions led by one broker / average"),
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
        "A cloud provider migrated the host of a broker live; for minutes the broker answered no request.",
        "Its partitions had no working leader, although every tool still showed one.",
        "Most consumers recovered by themselves; the Streams threads of one application died and stayed dead.",
        "More retries and longer sessions changed nothing; a longer default.api.timeout.ms did.",
        "Brokers are now terminated and restarted instead of migrated, and dead threads raise an alert.",
    ),
)
