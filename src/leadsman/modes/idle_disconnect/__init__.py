"""Idle disconnect: a client sends on a connection that the network path dropped because it was idle."""

from leadsman.kafka_defaults import seconds
from leadsman.model import Alternative, BenignLine, ChartWords, Cure, FailureMode, Harm, Link
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

RETRIES = (
    "retries=2147483647 and delivery.timeout.ms=120000 (Java, librdkafka), delivery_timeout_ms=120000 (kafka-python), "
    "request_timeout_ms=40000 (aiokafka)"
)
STALL_LIMITS = (
    "request.timeout.ms=10000 (Java), socket.timeout.ms=10000 (librdkafka), request_timeout_ms=10000 (kafka-python, "
    "aiokafka)"
)

MODE = FailureMode(
    title="Idle connection dropped: first send after a pause failed",
    what_happens=(
        "A client sends on a connection that a hop of its path dropped while the client was idle. The record is "
        "lost, is late, or waits for a timeout."
    ),
    harm=(Harm.LOST, Harm.DELAYED, Harm.STALLED),
    summary=(
        (
            "{after_gap:count} of {failures:count failure follows|failures follow} an idle gap of at least "
            "{limit_high:at_least}."
        ),
        (
            (
                "{unharmed_below:count shorter gap|shorter gaps} (up to {limit_low:at_least}) ended without a failure: "
                "the idle limit lies between {limit_low:at_least} and {limit_high:at_most}."
            ),
            "The capture shows no shorter gap, so the idle limit is at most {limit_high:at_most}.",
        ),
        "Each fleet of workers has its own idle limit: {fleets}.",
        "The broker closes idle connections after {broker_limit:duration} (connections.max.idle.ms).",
        "The limit fits {hop}.",
        (
            "The runtime was frozen during {frozen:count of the gaps|of the gaps}, so the client could not see the "
            "close."
        ),
    ),
    unknown=(
        "{failures:count request was|requests were} lost in flight on {affected_workers:count worker|workers}.",
        (
            "{common_cause:count of them has|of them have} a common cause at one instant, such as a restart, a "
            "deployment or a frozen broker. That explains them as well as an idle limit does.",
            (
                "{harm_not_logged:count of them follows|of them follow} a gap longer than an idle limit, but no line "
                "shows whether the records were lost."
            ),
            (
                "{unordered:count of them is|of them are} in files whose lines are not in order of time: gaps that "
                "are measured in such files prove little."
            ),
            (
                "{after_gap:count of them follows|of them follow} an idle gap, but {too_many_unharmed:count gap|gaps} "
                "of the same length or longer ended without a failure. An idle limit would have closed those "
                "connections too, unless the log lacks lines."
            ),
            (
                "{after_gap:count of them follows|of them follow} an idle gap, but only {too_few:count} of them a gap "
                "that is longer than most. Fewer than three failures prove no idle limit."
            ),
            (
                "{without_unharmed_uses:count of them follows|of them follow} an idle gap, but the logs of these "
                "workers show no successful use. A log of failures alone does not show whether the worker was idle or "
                "only logged nothing."
            ),
            (
                "{after_gap:count of them follows|of them follow} an idle gap. This can be a coincidence "
                "(probability {insignificant_probability}, Fisher's exact test)."
            ),
            (
                "{after_gap:count of them follows|of them follow} an idle gap of {limit_below_hops:at_least} or more. "
                "No known hop has so short an idle limit, and the capture shows too few uses after shorter gaps to "
                "prove one."
            ),
            "The capture does not show whether the workers were idle before the failures.",
        ),
    ),
    absent="No failure follows an idle gap.",
    no_source="The capture holds no log of a client or an application, so a lost request would not be visible.",
    next=(
        "This runs brokers of its own on this machine and does not touch your cluster: "
        "leadsman reproduce idle_disconnect"
    ),
    chain=(
        Link(
            id="idle",
            claim="The worker was idle for longer than the shortest idle limit of its network path.",
            observed=(
                "{after_gap:count} of {failures:count failure|failures} came right after a gap of at least "
                "{limit_high:at_least} in the worker's own log.",
                (
                    "{unharmed_below:count shorter gap|shorter gaps} of up to {limit_low:at_least} ended without a "
                    "failure."
                ),
                (
                    "{failed_below:count other failure|other failures} came after a shorter gap or while the worker "
                    "was busy.",
                ),
                "{unharmed_above:count gap|gaps} above the limit ended without a failure too.",
                "The probability of a coincidence is below 1 in {odds:count} (Fisher's exact test).",
                (
                    (
                        "{never_idle:count worker that was|workers that were} never idle for so long (at most "
                        "{never_idle_longest:duration}) had no failure."
                    ),
                    "{never_idle:count worker that was|workers that were} never idle had no failure.",
                ),
            ),
            contradicted=(
                "{while_busy:count failure|failures} came while the worker was writing: the worker was not idle.",
            ),
            not_visible=(
                "Idleness is proven where failures follow long gaps and uses after shorter gaps succeed. Collect the "
                "logs of all workers over several failures, from at least 15 minutes before each failure, at a level "
                "that shows successful uses (INFO, or START and END of each invocation).",
            ),
            collect_command="leadsman collect logs WORKER_LOG_WITH_ITS_ROTATED_FILES",
        ),
        Link(
            id="severed",
            claim="The path closed the idle connection, and the client wrote before it saw the close.",
            observed=(
                "The request was in flight when the connection broke.",
                (
                    "{reset:count request was|requests were} answered with a TCP reset: a hop of the path or the "
                    "broker no longer had the connection."
                ),
                (
                    "{stalled:count request|requests} stalled until a timeout: the path dropped the connection "
                    "without a reset."
                ),
                "{frozen:count request was|requests were} the first after the runtime was frozen (AWS Lambda).",
            ),
            contradicted=("The broker was unreachable or restarting at that time.",),
            not_visible=(
                "No line shows how the connection ended. Log the client at INFO during one failure (Java: "
                "org.apache.kafka.clients; librdkafka: log.connection.close=true).",
            ),
            collect_command="leadsman collect logs CLIENT_LOG_AT_INFO",
        ),
        Link(
            id="failed",
            claim="The next use of the connection failed, stalled or was late.",
            observed=(
                "{affected_workers:count worker was|workers were} affected.",
                "{lost:count record was|records were} reported as failed to the application.",
                "{killed:count invocation was|invocations were} killed by a time limit before the client gave up.",
                "{retried:count request was|requests were} retried by the client: delayed, not lost.",
            ),
            contradicted=("No use failed.",),
            not_visible=(
                "A connection was lost with a request in flight, but no line shows whether the record was retried "
                "within milliseconds, delivered late, or lost. Log the result of each delivery in the application.",
            ),
            collect_command="leadsman collect logs LOGS_OF_ALL_WORKERS",
        ),
    ),
    alternatives=(
        Alternative(
            id="broker_restart",
            cause="A broker restarted, shut down or was fenced",
            distinguished_by=(
                "many clients fail within the same minute, connections are refused, and the broker's log shows the "
                "start and stop; no idle gap comes before"
            ),
            ruled_out=(
                (
                    "No failure's gap contains a start, a stop or a fencing of a broker ({broker_lines:count "
                    "line|lines} of broker logs were read).",
                    "A restart affects all idle clients at one instant; these gaps have no instant in common.",
                ),
            ),
            observed=(
                "A broker's start, stop or fencing can have caused {restarted:count failure|failures} (not counted as "
                "evidence of idle_disconnect)."
            ),
            not_visible="Cannot be ruled out: the capture holds no broker log, and there are too few failures.",
        ),
        Alternative(
            id="one_instant",
            cause="One event affected all clients at once: a deployment, a failover, a frozen broker, the network",
            distinguished_by="the failures of several clients share one instant",
            ruled_out="No single moment lies in the idle gaps of half of the failures.",
            observed=(
                "{common_cause:count failure|failures} can be caused by one event: their gaps have one instant in "
                "common."
            ),
            not_visible="Cannot be ruled out: there are too few failures.",
        ),
        Alternative(
            id="coincidence",
            cause="Requests fail at any time, and some follow a gap by coincidence",
            distinguished_by="sends after short gaps fail as often as sends after long gaps",
            ruled_out="The probability that this is a coincidence is below 1 in {odds:count}.",
            observed="After long gaps no more requests failed than at other times.",
            not_visible=(
                (
                    "Cannot be ruled out: {too_many_unharmed:count gap|gaps} of that length or longer ended without a "
                    "failure.",
                    "Cannot be ruled out: only {too_few:count failure follows|failures follow} a long gap.",
                    "Cannot be ruled out: the logs of the failed workers show no successful use.",
                ),
            ),
        ),
        Alternative(
            id="unreachable",
            cause="A network fault made brokers unreachable",
            distinguished_by="reconnecting does not work at once",
            ruled_out="The client's own log shows no refused and no timed-out connection attempt.",
            observed=(
                (
                    "{unanswered_at_first:count failure was|failures were} the first request on a new connection, "
                    "without an answer: these connections were not idle.",
                    "{connect_failed:count connection attempt|connection attempts} failed near the failures.",
                ),
            ),
            not_visible=(
                (
                    "Cannot be ruled out: {connect_failed_ever:count connection attempt|connection attempts} failed "
                    "at other times.",
                    "Cannot be ruled out: the capture holds no line of the Kafka client itself.",
                ),
            ),
        ),
        Alternative(
            id="authentication",
            cause="The broker rejected the client's credentials",
            distinguished_by="an authentication failure is logged near the failure",
            ruled_out="The client's own log shows no failed authentication.",
            observed="{auth_failed:count authentication|authentications} failed near the failures.",
            not_visible=(
                (
                    "Cannot be ruled out: {auth_failed_ever:count authentication|authentications} failed at other "
                    "times.",
                    "Cannot be ruled out: the capture holds no line of the Kafka client itself.",
                ),
            ),
        ),
        Alternative(
            id="busy",
            cause="A request was lost or timed out while the worker was busy",
            distinguished_by="no idle gap comes before the failure",
            ruled_out="Every failure for which the log goes back far enough follows an idle gap.",
            observed="{while_busy:count failure|failures} came while the worker was busy.",
            not_visible="Cannot be ruled out: no log goes back far enough before a failure.",
        ),
    ),
    cure=(
        Cure(
            title="Let the client close idle connections first",
            why=(
                "Set an idle limit in the client that is below the limit of every hop. The client then reconnects "
                "before it writes."
            ),
            settings=(
                "# 45 % of the shortest hop: Azure 240 s, AWS 350 s, "
                f"broker {seconds('broker', 'connections.max.idle.ms'):g} s\nconnections.max.idle.ms=108000"
            ),
            measured_settings=(
                "# 45 % of the idle limit\nconnections_max_idle_ms={python_idle_ms}",
                "# 45 % of the idle limit\nconnections.max.idle.ms={dotted_idle_ms}",
            ),
        ),
        Cure(
            title="Replace a producer whose connection may have been dropped",
            why=(
                "Where workers are frozen between uses, a client's idle check can come too late. Keep one producer. "
                "Before you use a producer that was idle for longer than the limit, replace it. Never create one "
                "for each record: that leaks producer ids."
            ),
        ),
        Cure(
            title="Let the client retry",
            why="With retries a lost request is a delay of 0.1 to 1 s and not a lost record.",
            settings=(
                "# Java, librdkafka; on a serverless worker the delivery timeout is less than an invocation may take\n"
                "retries=2147483647\nacks=all\ndelivery.timeout.ms=120000\n# kafka-python\ndelivery_timeout_ms=120000\n"
                "# aiokafka has neither setting: it retries for request_timeout_ms\nrequest_timeout_ms=40000"
            ),
        ),
        Cure(
            title="Limit the stall",
            why=(
                "Where the path drops packets without a reset, the client waits for its request timeout: "
                f"{duration(seconds('producer', 'request.timeout.ms'))} in Java (request.timeout.ms), "
                f"{duration(seconds('librdkafka', 'socket.timeout.ms'))} in librdkafka (socket.timeout.ms)."
            ),
            settings=(
                "# Java\nrequest.timeout.ms=10000\n# librdkafka\nsocket.timeout.ms=10000\n"
                "# kafka-python, aiokafka\nrequest_timeout_ms=10000"
            ),
        ),
    ),
    headline=("Idle disconnect: {after_gap:count} of {failures:count} failures after {proven_limit:at_least} idle",),
    impact=(
        "{lost:count record was|records were} reported as failed.",
        "{retried:count record was|records were} retried and delivered late.",
        (
            "{stalled:count request|requests} waited up to {longest_wait:at_most} for a timeout.",
            "{stalled:count request|requests} waited for a timeout.",
        ),
        "{killed:count invocation was|invocations were} killed by a time limit: their records are lost.",
        "Services: {services}.",
        "In this capture a failure came every {interval:duration} on average. The failures end when every client "
        "closes its idle connections before the path does.",
    ),
    do_now=(
        (
            "Set connections_max_idle_ms={python_idle_ms} in the producers of {services}, and deploy them: 45 % of the "
            "idle limit.",
            "Set connections.max.idle.ms={dotted_idle_ms} in the producers of {services}, and deploy them: 45 % of the "
            "idle limit.",
            "Set connections_max_idle_ms={python_idle_ms} in the producers of all affected workers, and deploy them: "
            "45 % of the idle limit.",
            "Set connections.max.idle.ms={dotted_idle_ms} in the producers of all affected workers, and deploy them: "
            "45 % of the idle limit.",
        ),
        "The runtime was frozen before {frozen:count of the failures|of the failures}, where a client's idle check can "
        "come too late. Also replace the producer before you use it again after a pause that is longer than the limit.",
        f"Records were lost: send the {{lost:count failed record|failed records}} again. Allow retries: {RETRIES}.",
        "Records of {killed:count killed invocation|killed invocations} were lost: send them again, and limit the "
        f"stall to less than an invocation may take: {STALL_LIMITS}.",
        "Do not restart the brokers: a restart closes the connections of all clients and does not change the idle "
        "limit.",
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
        BenignLine(
            CONNECTION_CLOSED,
            "A connection closed while no request was in flight; the client opens another one.",
        ),
    ),
    chart_words=ChartWords(
        spans={
            "failed": "idle gap before a failure",
            "unharmed": "idle gap without a failure",
            "active": "active",
            "unused": "idle gap, connection not used after it",
        },
        instants={"failed": "failure"},
        limits={
            "broker_limit": "the broker's connections.max.idle.ms",
            "client_limit": "the shortest connections.max.idle.ms of a client",
            "azure_lb_limit": "Azure load balancer",
            "aws_nat_nlb_limit": "AWS NAT gateway, NLB, Nitro V6",
            "broker_default_limit": "default of the broker's connections.max.idle.ms",
        },
    ),
    symptom="severed",
    symptom_events=(CONNECTION_LOST, CONNECTION_RESET, REQUEST_TIMED_OUT, RECORD_FAILED, INVOCATION_TIMED_OUT),
    trigger_events=(CONNECTION_LOST, CONNECTION_RESET, REQUEST_TIMED_OUT, PRODUCE_RETRIED, RECORD_FAILED),
    story=(
        "A worker on a serverless platform sent records to Kafka; about once a day one record was lost.",
        "The error was that the server had disconnected before a response was received. All brokers were healthy.",
        "Busy services with the same client and the same brokers never had the error.",
        "The platform reused the worker after more than ten idle minutes; the broker had closed the connection.",
        "A provider that replaces a producer after too long an idle time ended the failures.",
    ),
)
