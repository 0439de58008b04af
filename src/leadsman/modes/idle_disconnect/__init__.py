"""A client that sends on a connection which its path has dropped for idleness."""

from leadsman.defaults import seconds
from leadsman.model import Benign, Cure, FailureMode, Harm, Link, Rival
from leadsman.vocabulary import (
    CONNECTION_CLOSED,
    CONNECTION_LOST,
    CONNECTION_RESET,
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
        "{after_gap:count} of {failures:count failure failures} follow a quiet gap of at least {limit_high:duration}.",
        (
            (
                "None of {shorter:count shorter gap|shorter gaps} (up to {limit_low:duration}) was followed by one: "
                "the idle limit lies between {limit_low:duration} and {limit_high:duration}."
            ),
            "No shorter gap is on record, so the limit lies at or below {limit_high:duration}.",
        ),
        "The broker is configured to drop connections after {broker_limit:duration} (connections.max.idle.ms).",
        "That fits {hop}.",
        "The runtime was frozen in {frozen:count of the gaps|of the gaps}: the client could not see the close.",
    ),
    unsettled=(
        "{failures:count request was|requests were} lost on {suffering:count worker|workers}, but this capture does "
        "not show whether they were quiet before.",
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
                "{limit_high:duration} in the worker's own log.",
                "{shorter:count shorter gap|shorter gaps} of up to {limit_low:duration} went unharmed.",
                "{longer_unharmed:count longer gap|longer gaps} went unharmed as well: the close was seen in time.",
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
                "The log does not reach back far enough before the failure, or its lines carry no time: what is needed "
                "is the worker's whole log, from at least 15 minutes before the failure on.",
            ),
            settled_by="leadsman collect logs WORKER_LOG_WITH_ITS_ROTATED_FILES",
        ),
        Link(
            id="severed",
            claim="Its connection was closed or cut meanwhile, and the client wrote before it knew.",
            observed=(
                "The request was under way when the connection proved to be gone, and the next connection worked.",
                "{reset:count was|were} answered with a reset: the path forgot the connection, and said so.",
                "{stalled:count} stalled until a time-out: the path dropped the connection in silence.",
                "{frozen:count happened|happened} in a runtime frozen between invocations (Lambda).",
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
            claim="The next use failed or stalled; it is lost where retries=0.",
            observed=(
                "{suffering:count worker|workers} suffered.",
                "{lost:count record was|records were} reported as failed to the application.",
                "{retried:count was|were} retried by the client: delayed, not lost.",
            ),
            contradicted=("No use failed.",),
            not_visible=("No client or application log shows what became of the next use.",),
            settled_by="leadsman collect logs LOGS_OF_ALL_WORKERS",
        ),
    ),
    rivals=(
        Rival(
            id="broker_restart",
            cause="A broker restarted or shut down",
            ruled_out=(
                "No broker start or stop and no refused connection near any failure "
                "({broker_lines:count line|lines} of broker logs read)."
            ),
            stands="{restarted:count failure|failures} coincide with a broker's start or stop.",
            not_visible="Not ruled out: connections were refused near a failure, and no broker log is in the capture.",
            decisive=False,
        ),
        Rival(
            id="unreachable",
            cause="A network fault kept brokers out of reach",
            ruled_out="No refused or timed-out connection attempt near a failure: reconnecting worked at once.",
            stands="{refused:count connection attempt|connection attempts} failed near the failures.",
            not_visible="Not ruled out.",
        ),
        Rival(
            id="authentication",
            cause="The broker rejected the client's credentials",
            ruled_out="No failed authentication near any failure.",
            stands="{denied:count authentication|authentications} failed near the failures.",
            not_visible="Not ruled out.",
        ),
        Rival(
            id="busy",
            cause="A request that was lost or timed out while the worker was busy",
            ruled_out="Every failure whose history is visible follows a quiet gap.",
            stands="{while_busy:count failure|failures} came while the worker was busy.",
            not_visible="Not ruled out: no failure's history is visible.",
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
        ),
        Cure(
            title="Replace a producer that could be dead",
            why=(
                "A frozen worker cannot run its idle check. Ask for the producer before each use, and let the provider "
                "replace one whose connection could be gone; never one per record, which leaks producer ids."
            ),
        ),
        Cure(
            title="Let the client retry",
            why="A lost request is then a delay of 0.1 to 1 s and not a lost record.",
            settings="retries=2147483647\nacks=all\ndelivery.timeout.ms=120000",
        ),
        Cure(
            title="Bound the stall",
            why=(
                "Where the path drops in silence, the client waits for its time-out: "
                f"{duration(seconds('producer', 'request.timeout.ms'))} in Java, "
                f"{duration(seconds('librdkafka', 'socket.timeout.ms'))} in librdkafka."
            ),
            settings="# Java\nrequest.timeout.ms=10000\n# librdkafka\nsocket.timeout.ms=10000",
        ),
    ),
    explains=(CONNECTION_LOST, CONNECTION_RESET, REQUEST_TIMED_OUT, PRODUCE_RETRIED, RECORD_FAILED, RECORD_EXPIRED),
    benign=(
        Benign(
            CONNECTION_CLOSED,
            "A connection ended while nothing was under way on it; the client opens another. Harmless by itself.",
        ),
    ),
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
