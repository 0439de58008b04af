"""A client that sends on a connection which its path has dropped for idleness."""

from leadsman.defaults import seconds
from leadsman.model import Benign, Cure, FailureMode, Harm, Link, Rival
from leadsman.vocabulary import (
    BOOTSTRAP_FAILED,
    CONNECTION_CLOSED,
    CONNECTION_LOST,
    CONNECTION_RESET,
    INVOCATION_TIMED_OUT,
    PRODUCE_RETRIED,
    RECORD_EXPIRED,
    RECORD_FAILED,
    REQUEST_TIMED_OUT,
)
from leadsman.words import duration

MODE = FailureMode(
    title="Sends on a connection that was dropped while the worker was idle",
    harm=(Harm.LOST, Harm.DELAYED, Harm.STALLED),
    summary=(
        "{after_gap:count} of {failures:count failure failures} follow a quiet gap of at least {limit_high:at_least}.",
        (
            (
                "None of {shorter:count shorter gap|shorter gaps} (up to {limit_low:duration}) was followed by one: "
                "the idle limit lies between {limit_low:at_least} and {limit_high:at_most}."
            ),
            "No shorter gap is on record, so the limit lies at or below {limit_high:at_most}.",
        ),
        "Each fleet of workers has a limit of its own: {fleets}.",
        "The broker is configured to drop connections after {broker_limit:duration} (connections.max.idle.ms).",
        "That fits {hop}.",
        "The runtime was frozen in {frozen:count of the gaps|of the gaps}: the client could not see the close.",
    ),
    unsettled=(
        "{failures:count request was|requests were} lost under way on {suffering:count worker|workers}.",
        (
            "{at_once:count of them has|of them have} one instant in common, such as a restart, a deployment or a "
            "frozen broker: that explains them as well as an idle limit does.",
            (
                "{unseen_harm:count of them follows|of them follow} a gap longer than some idle limit, but no line "
                "shows what became of the records."
            ),
            (
                "{disordered:count of them is|of them are} in files whose lines are in no order of time: gaps "
                "that were measured there prove little."
            ),
            (
                "{after_gap:count of them follows|of them follow} a quiet gap, but {spared:count gap|gaps} of that "
                "length and more went unharmed. An idle limit would have ended those connections too, unless the log "
                "lacks lines."
            ),
            (
                "{after_gap:count of them follows|of them follow} a quiet gap, {too_few} of them a gap that is longer "
                "than most: fewer than three prove no limit."
            ),
            (
                "{uncontrasted:count of them follows|of them follow} a quiet gap, but no line shows uses of these "
                "workers that went well: a log of failures alone cannot tell an idle worker from a silent one."
            ),
            (
                "{after_gap:count of them follows|of them follow} a quiet gap. That can be a coincidence "
                "(probability {doubt}, Fisher's exact test)."
            ),
            (
                "{after_gap:count of them follows|of them follow} a quiet gap of {too_short:at_least} or more. No "
                "known hop has so short an idle limit, and the uses after shorter gaps are too few to prove one."
            ),
            "The capture does not show whether the workers were idle before.",
        ),
    ),
    absent="No failure follows a quiet gap.",
    blind="No log of a client or of an application is in this capture: a lost request could not have been seen.",
    next="leadsman reproduce idle_disconnect",
    chain=(
        Link(
            id="quiet",
            claim="The worker was quiet for longer than the shortest idle limit of its path.",
            observed=(
                "{after_gap:count} of {failures:count failure|failures} came right after a gap of at least "
                "{limit_high:at_least} in the worker's own log.",
                "{shorter:count shorter gap|shorter gaps} of up to {limit_low:duration} went unharmed.",
                (
                    "{shorter_failed:count failure|failures} came otherwise, after a shorter gap or while the worker "
                    "was busy.",
                ),
                "{longer_unharmed:count gap|gaps} above the limit went unharmed as well.",
                "The probability of this by coincidence is below 1 in {odds:count} (Fisher's exact test).",
                (
                    (
                        "{never_quiet:count worker that was|workers that were} never quiet for so long (at most "
                        "{never_quiet_longest:duration}) did not suffer."
                    ),
                    "{never_quiet:count worker that was|workers that were} never quiet did not suffer.",
                ),
            ),
            contradicted=("{while_busy:count failure|failures} came while the worker was writing: it was not idle.",),
            not_visible=(
                "Idleness is proven where failures follow long gaps and the uses after shorter gaps went well. Needed "
                "are the logs of all workers over several failures, at the level that shows uses which went well "
                "(INFO, or START and END of each invocation), from at least 15 minutes before each failure on.",
            ),
            settled_by="leadsman collect logs WORKER_LOG_WITH_ITS_ROTATED_FILES",
        ),
        Link(
            id="severed",
            claim="Its connection was closed or cut meanwhile, and the client wrote before it knew.",
            observed=(
                "The request was in flight when the connection proved to be gone.",
                "{reset:count request was|requests were} answered with a reset: the path forgot the "
                "connection, and said so.",
                "{stalled:count request|requests} stalled until a timeout: the path dropped the connection in silence.",
                "{frozen:count request was|requests were} the first after the runtime was frozen (Lambda).",
            ),
            contradicted=("The broker was unreachable or restarting at that moment.",),
            not_visible=(
                "No line tells what became of the connection. Log the client at INFO through one failure (Java: "
                "org.apache.kafka.clients; librdkafka: log.connection.close=true).",
            ),
            settled_by="leadsman collect logs CLIENT_LOG_AT_INFO",
        ),
        Link(
            id="failed",
            claim="The next use failed, stalled, or was late.",
            observed=(
                "{suffering:count worker was|workers were} affected.",
                "{lost:count record was|records were} reported as failed to the application.",
                "{killed:count invocation was|invocations were} killed by a time limit before the client gave up.",
                "{retried:count request was|requests were} retried by the client: delayed, not lost.",
            ),
            contradicted=("No use failed.",),
            not_visible=(
                "A connection was lost under way, and no line shows what became of the record: sent again within "
                "milliseconds, late, or lost. Log each delivery's result in the application.",
            ),
            settled_by="leadsman collect logs LOGS_OF_ALL_WORKERS",
        ),
    ),
    rivals=(
        Rival(
            id="broker_restart",
            cause="A broker restarted, shut down or was fenced",
            ruled_out=(
                (
                    "No failure's gap holds a start, stop or fencing of a broker ({broker_lines:count line|lines} of "
                    "broker logs read).",
                    "A restart strikes all idle clients at one instant; no instant is common to these gaps.",
                ),
            ),
            stands=(
                "{restarted:count failure|failures} can come from a broker's start, stop or fencing, and "
                "count neither for nor against an idle limit."
            ),
            not_visible="Cannot be ruled out: no broker log is in the capture, and the failures are too few.",
        ),
        Rival(
            id="one_instant",
            cause="One event struck all clients at once: a deployment, a failover, a frozen broker, the network",
            ruled_out="No instant is common to the gaps of half of the failures.",
            stands="{at_once:count failure|failures} can come from one instant, which their gaps have in common.",
            not_visible="Cannot be ruled out: the failures are too few to say.",
        ),
        Rival(
            id="coincidence",
            cause="Requests fail at any time, and some follow a gap by coincidence",
            ruled_out="By coincidence this happens at most once in {odds:count} captures like this one.",
            stands="After long gaps no more requests failed than otherwise.",
            not_visible=(
                (
                    "Cannot be ruled out: {spared:count gap|gaps} of that length and more went unharmed.",
                    "Cannot be ruled out: {too_few:count failure after a long gap is|failures after long gaps are} too "
                    "few.",
                    "Cannot be ruled out: no use that went well is on record of the workers that failed.",
                ),
            ),
        ),
        Rival(
            id="unreachable",
            cause="A network fault kept brokers out of reach",
            ruled_out="The client's own log has no refused or timed-out connection attempt.",
            stands="{refused:count connection attempt|connection attempts} failed near the failures.",
            not_visible=(
                (
                    "Cannot be ruled out: {refused_ever:count connection attempt|connection attempts} failed "
                    "at other times.",
                    "Cannot be ruled out: no line of the Kafka client itself is in the capture.",
                ),
            ),
        ),
        Rival(
            id="authentication",
            cause="The broker rejected the client's credentials",
            ruled_out="The client's own log has no failed authentication.",
            stands="{denied:count authentication|authentications} failed near the failures.",
            not_visible=(
                (
                    "Cannot be ruled out: {denied_ever:count authentication|authentications} failed at other times.",
                    "Cannot be ruled out: no line of the Kafka client itself is in the capture.",
                ),
            ),
        ),
        Rival(
            id="busy",
            cause="A request that was lost or timed out while the worker was busy",
            ruled_out="Every failure whose history is visible follows a quiet gap.",
            stands="{while_busy:count failure|failures} came while the worker was busy.",
            not_visible="Cannot be ruled out: no failure's history is visible.",
        ),
    ),
    cure=(
        Cure(
            title="Let the client close first",
            why="An idle limit in the client below every hop of the path: it reconnects before it writes.",
            settings=(
                "# 45 % of the shortest hop: Azure 240 s, AWS 350 s, "
                f"broker {seconds('broker', 'connections.max.idle.ms'):g} s\nconnections.max.idle.ms=108000"
            ),
            measured=(
                "# 45 % of the measured limit\nconnections_max_idle_ms={python_idle_ms}",
                "# 45 % of the measured limit\nconnections.max.idle.ms={dotted_idle_ms}",
            ),
        ),
        Cure(
            title="Replace a producer that could be dead",
            why=(
                "Where workers are frozen between uses, a client's idle check can come too late. Keep one producer, "
                "and make a new one before a use that comes later than the limit after the last; never one per record, "
                "which leaks producer ids."
            ),
        ),
        Cure(
            title="Let the client retry",
            why="A lost request is then a delay of 0.1 to 1 s and not a lost record.",
            settings=(
                "retries=2147483647\nacks=all\n# on a serverless worker: less than an invocation may take\n"
                "delivery.timeout.ms=120000\n# kafka-python\ndelivery_timeout_ms=120000"
            ),
        ),
        Cure(
            title="Bound the stall",
            why=(
                "Where the path drops in silence, the client waits for its timeout: "
                f"{duration(seconds('producer', 'request.timeout.ms'))} in Java, "
                f"{duration(seconds('librdkafka', 'socket.timeout.ms'))} in librdkafka."
            ),
            settings=(
                "# Java\nrequest.timeout.ms=10000\n# librdkafka\nsocket.timeout.ms=10000\n"
                "# kafka-python, aiokafka\nrequest_timeout_ms=10000"
            ),
        ),
    ),
    headline=(
        "Idle disconnect: {after_gap:count} of {failures:count} failures follow gaps of {proven_limit:at_least} "
        "or more",
    ),
    impact=(
        "{lost:count record was|records were} reported as failed.",
        "{retried:count record was|records were} sent again, late.",
        (
            "{stalled:count request|requests} waited up to {waited:at_most} for a timeout.",
            "{stalled:count request|requests} waited for a timeout.",
        ),
        "{killed:count invocation was|invocations were} killed meanwhile by a time limit: their records are lost.",
        "Services: {services}.",
        "It goes on, about once in {interval:duration}, until a client closes idle connections first.",
    ),
    do_now=(
        (
            "Set connections_max_idle_ms={python_idle_ms} in the producers of {services}, and deploy them: 45 % of the "
            "measured idle limit.",
            "Set connections.max.idle.ms={dotted_idle_ms} in the producers of {services}, and deploy them: 45 % of the "
            "measured idle limit.",
        ),
        "The runtime was frozen before {frozen:count of the failures|of the failures}, where a client's idle check can "
        "come too late: also make a new producer before a use that comes later than that (cure 2).",
        "Records were lost: send the {lost:count failed record|failed records} again, and let the client retry (cure "
        "3).",
        "Records of {killed:count killed invocation|killed invocations} were lost: send them again, and bound the "
        "stall (cure 4) below the time that an invocation may take.",
        "Leave the brokers running: a restart ends every client's connections, and the idle limit stays.",
    ),
    explains=(
        BOOTSTRAP_FAILED,
        CONNECTION_LOST,
        CONNECTION_RESET,
        INVOCATION_TIMED_OUT,
        REQUEST_TIMED_OUT,
        PRODUCE_RETRIED,
        RECORD_FAILED,
        RECORD_EXPIRED,
    ),
    benign=(
        Benign(
            CONNECTION_CLOSED,
            "A connection ended while nothing was under way on it; the client opens another. Harmless by itself.",
        ),
    ),
    symptom="severed",
    symptom_sources=(
        "java_client",
        "librdkafka",
        "kafka_python",
        "aiokafka",
        "sarama",
        "kafkajs",
        "franz_go",
        "serverless",
        "application",
    ),  # fmt: skip - a list of names
    signs=(CONNECTION_LOST, CONNECTION_RESET, REQUEST_TIMED_OUT, PRODUCE_RETRIED, RECORD_FAILED),
    story=(
        "A worker on a serverless platform sent records to Kafka; about once a day one of them was lost.",
        "The error said that the server had disconnected before a response was received. Every broker was green.",
        "Busy services with the same client and the same brokers never saw it.",
        "The platform reused the worker after more than ten quiet minutes; the broker had closed the connection.",
        "A provider that replaces a producer idle for too long ended it.",
    ),
)
