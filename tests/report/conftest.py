"""Diagnoses to show: the founding incident, an open question, a clean bill of health, and a hostile log."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from leadsman.model import (
    AlternativeFinding,
    Cell,
    Cure,
    Diagnosis,
    ErrorGroup,
    Evidence,
    Finding,
    LinkFinding,
    Matrix,
    MatrixAxes,
    NotCollectedItem,
    NotUnderstood,
    Point,
    State,
    Verdict,
)

DAY = datetime(2020, 12, 20, tzinfo=UTC)
WORKERS = tuple(f"2020/12/20/[$LATEST]{name}" for name in ("8f3c1be0d2a94c51", "41d07aa9b6e34f02", "c9e2570f13bb4d8e"))
SERVICES = ("payments-api-0", "payments-api-1")
FAILED_GAPS = (
    (0, 8.2342, 611.4),
    (1, 9.5113, 634.0),
    (2, 11.02, 702.8),
    (0, 13.37, 905.1),
    (1, 15.9, 1_288.0),
    (2, 18.44, 3_907.5),
    (0, 21.05, 7_512.2),
)  # fmt: skip - worker, hour at which the gap ended, seconds
LOST = (
    "[WARN] {at} kafka-producer-network-thread | producer-1 org.apache.kafka.clients.producer.internals.Sender - "
    "[Producer clientId=producer-1] Received invalid metadata error in produce request on partition "
    "webhook.raw-{n} due to org.apache.kafka.common.errors.NetworkException: The server disconnected before a "
    "response was received.. Going to request metadata update now"
)
HOSTILE = (
    '\x1b[31mERROR\x1b[0m </code></pre></style></script><script>alert(1)</script><img src=x onerror="alert(2)"> '
    "{{ 7*7 }} {% raw %} [bold red]markup[/] &lt;amp&gt; \x1b]0;title\x07\x9b2J \u202egnp.exe \r\n\x00 end"
)


def at(hour: float) -> datetime:
    return DAY + timedelta(hours=hour)


def lost(n: int) -> Evidence:
    worker, hour, _ = FAILED_GAPS[n]
    stamp = at(hour).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    request = f"{worker}b1f6a-94c2-4e3a-a1d4-{n:012d}"
    return Evidence(
        file=f"{WORKERS[worker]}/000000.gz",
        line=1041 + 13 * n,
        time=at(hour),
        text=LOST.format(at=stamp, n=n % 3),
        before=(
            f"START RequestId: {request} Version: $LATEST",
            f"[INFO] {stamp} com.example.LinkHandler - webhook ITEM_UPDATED for item 7Qw{n}, 1 record to send",
        ),
        after=(
            "org.apache.kafka.common.errors.NetworkException: The server disconnected before a response was received.",
            f"END RequestId: {request}",
            f"REPORT RequestId: {request}\tDuration: 112.40 ms\tBilled Duration: 113 ms\tMemory Size: 512 MB",
        ),
    )


def quiet(n: int) -> Evidence:
    worker, hour, seconds = FAILED_GAPS[n]
    end = at(hour) - timedelta(seconds=seconds)
    return Evidence(
        file=f"{WORKERS[worker]}/000000.gz",
        line=1036 + 13 * n,
        time=end,
        text=f"END RequestId: {worker}b1f6a-94c2-4e3a-a1d4-{n + 100:012d}",
    )


def failed_points() -> tuple[Point, ...]:
    return tuple(
        Point(subject=WORKERS[w], outcome="failed", at=at(h), since=at(h) - timedelta(seconds=s), value=s)
        for w, h, s in FAILED_GAPS
    )


def unharmed_points() -> tuple[Point, ...]:
    """1,204 shorter gaps, up to 598 s, spread over the workers by a fixed rule; services are never quiet for long."""
    return tuple(
        Point(
            subject=(*WORKERS, *SERVICES)[n % 5],
            outcome="unharmed",
            at=at(0.3 + n * 0.0196),
            since=at(0.3 + n * 0.0196) - timedelta(seconds=gap),
            value=gap,
        )
        for n in range(1204)
        for gap in (598.0 if n == 600 else [4.0, 21.0, 9.0, 1.1, 1.4][n % 5] * (1 + n % 23),)
    )


CHAIN = (
    LinkFinding(
        link="quiet",
        claim="The worker was quiet for longer than the shortest idle limit of its path.",
        state=State.OBSERVED,
        explanation="7 of 7 errors follow a quiet gap of at least 611 s; none of 1,204 shorter gaps (up to 598 s) was "
        "followed by one. The limit lies between 598 s and 611 s, which fits the broker's default of 600 s.",
        evidence=tuple(quiet(n) for n in range(7)),
    ),
    LinkFinding(
        link="written_before_seen",
        claim="Its connection was closed meanwhile, and the client wrote before it knew.",
        state=State.OBSERVED,
        explanation="The runtime was frozen between invocations (START and END lines on both sides of every gap), "
        "and each write was answered by a reset within 112 ms.",
        evidence=(lost(0), lost(1)),
    ),
    LinkFinding(
        link="lost",
        claim="The next use failed, and was lost where retries=0.",
        state=State.OBSERVED,
        explanation="7 records failed; retries=0 in the producer's own configuration dump.",
        evidence=tuple(lost(n) for n in range(7)),
    ),
)
ALTERNATIVES = (
    AlternativeFinding(
        cause="A broker restarted or shut down",
        ruled_out_by="no two of the 7 errors share a minute, and no connection was refused",
        explanation="A restart strikes every client at one instant and refuses connections around it.",
    ),
    AlternativeFinding(
        cause="Authentication failed",
        ruled_out_by="no authentication failure in 118,204 lines",
        explanation="It would fail young connections, not only idle ones.",
    ),
    AlternativeFinding(
        cause="A firewall or NAT on the way forgot the connection",
        ruled_out_by=None,
        explanation="It has the same effect and the same cure; the inferred limit fits the broker's 600 s better than "
        "350 s.",
    ),
)
CURES = (
    Cure(
        "Close idle connections from the client's side first",
        "A client that closes its own idle connection opens a new one before it writes. The limit must be below the "
        "shortest of the path.",
        "# Java, librdkafka\nconnections.max.idle.ms=180000\n# kafka-python, aiokafka\nconnections_max_idle_ms=180000",
    ),
    Cure(
        "Let records be retried", "With retries the same reset costs about 0.2 s and no record.",
        "retries=2147483647\ndelivery.timeout.ms=120000",
    ),
    Cure(
        "Replace a producer whose connection could be gone",
        "A frozen worker cannot close anything while it is frozen. Take the producer from leadsman_clients, which "
        "checks its age on every use.",
    ),
)  # fmt: skip
UNEXPLAINED = ErrorGroup(
    kind="org.apache.kafka.common.errors.TopicAuthorizationException",
    count=12,
    first=at(3.1),
    last=at(19.7),
    example=Evidence(
        file="services/billing.log",
        line=88,
        time=at(3.1),
        text="2020-12-20 03:06:00,000 ERROR Not authorized to access topics: [billing.audit]",
    ),
)
BENIGN = ErrorGroup(
    kind="connection.closed",
    count=34,
    first=at(1),
    last=at(23),
    why="An idle connection was closed while nothing was under way on it; the client opened another.",
    example=Evidence(
        file="services/payments-api-0.log",
        line=417,
        time=at(1),
        text="%6|1608426000.113|FAIL|rdkafka#producer-1| [thrd:b1:9092/1]: b1:9092/1: Disconnected "
        "(after 600053ms in state UP)",
    ),
)


@pytest.fixture(scope="session")
def present() -> Diagnosis:
    finding = Finding(
        mode="idle_disconnect",
        verdict=Verdict.PRESENT,
        title="Workers sent on connections that an idle limit had closed",
        summary="3 workers lost 7 records: each was the first use of a connection after more than 611 s of quiet. "
        "2 services that are never quiet for longer than 33 s had no error.",
        subjects={"suffered": list(WORKERS), "never quiet long enough": list(SERVICES)},
        since=at(8.2342),
        until=at(21.05),
        figures={"errors": 7, "limit_low": 598.0, "limit_high": 611.4, "broker_default_limit": 600.0,
                 "aws_nat_gateway_limit": 350.0, "client": "java 2.7.2"},
        chain=CHAIN,
        alternatives=ALTERNATIVES,
        cure=CURES,
        points=failed_points() + unharmed_points(),
    )  # fmt: skip
    return Diagnosis(
        path="captures/account-linking",
        verdicts={
            "idle_disconnect": Verdict.PRESENT,
            "producer_id_leak": Verdict.ABSENT,
            "leaderless_partition": Verdict.ABSENT,
            "stale_neighbour": Verdict.UNKNOWN,
        },
        findings=(finding,),
        unexplained=(UNEXPLAINED,),
        benign=(BENIGN,),
        since=at(0.01),
        until=at(23.99),
        files=41,
        bytes=12_412_000,
        lines=118_204,
        sources=("AWS Lambda log streams", "Java client 2.7", "librdkafka"),
        not_understood=(NotUnderstood("core.1189", "binary: 4,096 bytes hold 3,911 that are no text"),),
        not_collected=(
            NotCollectedItem("jvm/4711/heap.txt", "There is no process 4711 here", "jcmd 4711 GC.heap_info"),
        ),
        notes=("Times in services/*.log carry no zone; UTC was assumed (--timezone changes it).",),
    )


def met(row: str, column: str, outcome: str = "established", *, explanation: str = "") -> Cell:
    return Cell(
        row=row,
        column=column,
        outcome=outcome,
        is_harm=outcome != "established",
        explanation=explanation,
        file="ss.txt",
        line=7,
    )


@pytest.fixture(scope="session")
def matrix() -> Matrix:
    """Two clients and three servers, of which one pair was never seen."""
    wrong = "broker-1 has 02:5a:10:00:00:0a for 10.20.4.57; it is 02:5a:10:00:00:0b."
    cells = (
        met("worker-3 (10.20.4.57)", "broker-1 (10.20.4.11):9092", "SYN_SENT and SYN_RECV", explanation=wrong),
        met("worker-3 (10.20.4.57)", "broker-3 (10.20.4.13):9092", "refused"),
        met("worker-3 (10.20.4.57)", "broker-2 (10.20.4.12):9092"),
        met("worker-2 (10.20.4.23)", "broker-1 (10.20.4.11):9092"),
        met("worker-2 (10.20.4.23)", "broker-2 (10.20.4.12):9092"),
    )
    return Matrix(axes=MatrixAxes("Who reaches whom", row="client", column="server"), cells=cells, rows=2, columns=3)


@pytest.fixture(scope="session")
def reach(present: Diagnosis, matrix: Matrix) -> Diagnosis:
    """A diagnosis with a matrix and without points."""
    return replace(present, findings=(replace(present.findings[0], matrix=matrix, points=()),))


@pytest.fixture(scope="session")
def unknown() -> Diagnosis:
    unseen = LinkFinding(
        link="quiet",
        claim=CHAIN[0].claim,
        state=State.NOT_VISIBLE,
        explanation="One line carries no history: whether the worker was quiet before it cannot be seen.",
    )
    failed = replace(
        CHAIN[2],
        explanation="1 record failed.",
        evidence=(replace(lost(0), file="mail.txt", line=1, before=(), after=()),),
    )
    finding = Finding(
        mode="idle_disconnect",
        verdict=Verdict.UNKNOWN,
        title="A send failed on a connection that was gone",
        summary="1 error has the wording of an idle disconnect; what came before it is not in the capture.",
        subjects={"suffered": ["producer-1"]},
        since=at(8.2342),
        until=at(8.2342),
        figures={"errors": 1},
        chain=(
            unseen,
            replace(CHAIN[1], state=State.NOT_VISIBLE, explanation="Not visible without its neighbours.", evidence=()),
            failed,
        ),
        alternatives=(replace(ALTERNATIVES[0], ruled_out_by=None),),
        cure=CURES[:1],
        next="leadsman collect --since 2020-12-20T08:00 --until 2020-12-20T08:20 --out capture/",
    )
    return Diagnosis(path="mail.txt", verdicts={"idle_disconnect": Verdict.UNKNOWN}, findings=(finding,),
                     since=at(8.2342), until=at(8.2342), files=1, bytes=412, lines=1)  # fmt: skip


@pytest.fixture
def not_checked() -> Finding:
    """What a diagnosis says of a mode that the capture cannot show."""
    return Finding(
        mode="leaderless_partition",
        verdict=Verdict.UNKNOWN,
        title="Consumers crashed",
        summary="The capture holds no line of a Kafka consumer.",
        next="leadsman diagnose FOLDER_WITH_THE_LOGS_OF_THE_CONSUMERS",
    )


@pytest.fixture(scope="session")
def absent() -> Diagnosis:
    return Diagnosis(
        path="captures/healthy",
        verdicts={"idle_disconnect": Verdict.ABSENT, "producer_id_leak": Verdict.ABSENT},
        benign=(BENIGN,),
        since=at(0),
        until=at(24),
        files=3,
        bytes=90_112,
        lines=812,
        sources=("librdkafka",),
    )


@pytest.fixture(scope="session")
def hostile(present: Diagnosis) -> Diagnosis:
    """The incident again, with a line in every place that tries to break out of it."""
    line = Evidence(file=HOSTILE + ".log", line=1, text=HOSTILE, time=at(1), before=(HOSTILE,), after=(HOSTILE,))
    finding = replace(
        present.findings[0],
        title=HOSTILE,
        summary=HOSTILE,
        subjects={HOSTILE: [HOSTILE, "$x^{2$ and $y"]},
        chain=(replace(CHAIN[0], explanation=HOSTILE, evidence=(line,)), *CHAIN[1:]),
        alternatives=(AlternativeFinding(cause=HOSTILE, ruled_out_by=HOSTILE, explanation=HOSTILE),),
        cure=(Cure(HOSTILE, HOSTILE, HOSTILE),),
        next=HOSTILE,
        matrix=Matrix(axes=MatrixAxes(HOSTILE, row=HOSTILE, column=HOSTILE), rows=9, columns=1, cells=(
            Cell(row=HOSTILE, column=HOSTILE, outcome=HOSTILE, is_harm=True, explanation=HOSTILE, file=HOSTILE,
                 line=1),)),
        points=(Point(subject=HOSTILE, outcome=HOSTILE, at=at(2), since=at(1), value=3600.0),
                Point(subject="$x^{2$ and $y \u4e2d", outcome="failed", at=at(2), since=at(1), value=3600.0)),
    )  # fmt: skip
    group = ErrorGroup(kind=HOSTILE, count=1, example=line, why=HOSTILE)
    return replace(
        present,
        path=HOSTILE,
        findings=(finding,),
        unexplained=(group,),
        benign=(group,),
        sources=(HOSTILE,),
        not_understood=(NotUnderstood("name-\udce9\n" + HOSTILE, HOSTILE),),
        not_collected=(NotCollectedItem(HOSTILE, HOSTILE, HOSTILE),),
        notes=(HOSTILE,),
    )
