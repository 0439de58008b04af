"""What Kafka clients log of faults that are none of the failure modes: listeners, TLS, DNS, ACLs, quotas, fencing.

Each line is its level, its logger and its text; a level of RAW means that the client prints the line by itself.
Names in braces are filled in for each occurrence.
"""

from __future__ import annotations

JAVA, RDKAFKA, KAFKA_PYTHON, SARAMA = "java", "librdkafka", "kafka-python", "sarama"
RAW = "RAW"

Words = tuple[tuple[str, str, str], ...]

PRODUCER = "[Producer clientId=producer-1] "
NETWORK_CLIENT, SENDER, WRITER = "o.a.k.c.NetworkClient", "o.a.k.c.producer.internals.Sender", "c.f.l.LedgerWriter"
ERRORS = "org.apache.kafka.common.errors."
_RD = "|rdkafka#producer-1| [thrd:{host}:9092/{node}]: {host}:9092/{node}: "
_RD_BOOT = "|rdkafka#producer-1| [thrd:{scheme}{host}:{port}/bootstrap]: {scheme}{host}:{port}/bootstrap: "
_CONNECTION = "<BrokerConnection node_id={node} host={host}:{port} <{state}> [IPv4 ('{ip}', {port})]>"
PARTITION = "TopicPartition(topic='{topic}', partition={partition})"


def java_failed(cause: str) -> tuple[str, str, str]:
    return ("ERROR", WRITER, f"could not write entry {{entry}}\n{ERRORS}{cause}")


def librdkafka_failed(error: str) -> tuple[str, str, str]:
    return ("ERROR", "ledger", f"delivery of entry {{entry}} failed: KafkaError{{{{{error}}}}}")


def python_failed(error: str) -> tuple[str, str, str]:
    text = (
        "could not write entry {entry}\nTraceback (most recent call last):\n"
        '  File "/srv/ledger/writer.py", line 71, in write\n    future.get(timeout=60)\nkafka.errors.' + error
    )
    return ("ERROR", "ledger", text)


_MESSAGE_TIMED_OUT = 'code=_MSG_TIMED_OUT,val=-192,str="Local: Message timed out"'
_NO_BROKERS = python_failed("NoBrokersAvailable: NoBrokersAvailable")
_EXPIRED = java_failed(
    "TimeoutException: Expiring 1 record(s) for {topic}-{partition}:120001 ms has passed since batch creation"
)

_PYTHON_EXPIRED = python_failed(
    f"KafkaTimeoutError: KafkaTimeoutError: Batch for {PARTITION} containing 1 record(s) expired: "
    "30 seconds have passed since batch creation plus linger time"
)
_NO_METADATA_PYTHON = python_failed("KafkaTimeoutError: KafkaTimeoutError: Failed to update metadata after 60.0 secs.")
_RUN_OUT = ("ERROR", "ledger", "kafka: client has run out of available brokers to talk to: {reason}")

LISTENERS: dict[str, Words] = {
    JAVA: (
        (
            "WARN",
            NETWORK_CLIENT,
            (
                f"{PRODUCER}Error connecting to node kafka-{{node}}.inner:9092 (id: {{node}} rack: null)\n"
                "java.net.UnknownHostException: kafka-{node}.inner\n"
                "\tat java.base/java.net.InetAddress$CachedAddresses.get(InetAddress.java:801)"
            ),
        ),
        _EXPIRED,
    ),
    RDKAFKA: (
        (
            RAW,
            "3|FAIL",
            (
                "|rdkafka#producer-1| [thrd:kafka-{node}.inner:9092/{node}]: kafka-{node}.inner:9092/{node}: "
                "Failed to resolve 'kafka-{node}.inner:9092': Name or service not known (after 4ms in state CONNECT, "
                "1 identical error(s) suppressed)"
            ),
        ),
        librdkafka_failed(_MESSAGE_TIMED_OUT),
    ),
    KAFKA_PYTHON: (
        (
            "WARNING",
            "kafka.conn",
            (
                "DNS lookup failed for kafka-{node}.inner:9092, exception was [Errno -2] Name or service not known. "
                "Is your advertised.listeners (called advertised.host.name before Kafka 9) correct and resolvable?"
            ),
        ),
        ("ERROR", "kafka.conn", "DNS lookup failed for kafka-{node}.inner:9092 (AddressFamily.AF_UNSPEC)"),
        _PYTHON_EXPIRED,
    ),
    SARAMA: (
        (
            RAW,
            "sarama",
            (
                "Failed to connect to broker kafka-{node}.inner:9092: dial tcp: lookup kafka-{node}.inner on "
                "10.96.0.10:53: no such host"
            ),
        ),
        (RAW, "sarama", "producer/broker/{node} state change to [closing] because dial tcp: lookup kafka-{node}.inner"),
        ("ERROR", "ledger", "kafka: Failed to produce message to topic {topic}: dial tcp: lookup kafka-{node}.inner"),
    ),
}

INTERNAL_ADDRESS: dict[str, Words] = {
    JAVA: (
        (
            "INFO",
            NETWORK_CLIENT,
            (
                f"{PRODUCER}Disconnecting from node {{node}} due to socket connection setup timeout. The "
                "timeout value is 10231 ms."
            ),
        ),
        (
            "WARN",
            NETWORK_CLIENT,
            (
                f"{PRODUCER}Connection to node {{node}} (/172.17.0.{{node}}:9092) could not be established. "
                "Node may not be available."
            ),
        ),
        _EXPIRED,
    ),
    RDKAFKA: (
        (
            RAW,
            "4|FAIL",
            (
                "|rdkafka#producer-1| [thrd:172.17.0.{node}:9092/{node}]: 172.17.0.{node}:9092/{node}: "
                "Connection setup timed out in state CONNECT (after 30037ms in state CONNECT)"
            ),
        ),
        librdkafka_failed(_MESSAGE_TIMED_OUT),
    ),
    KAFKA_PYTHON: (
        (
            "ERROR",
            "kafka.conn",
            (
                "Connection attempt to <BrokerConnection node_id={node} host=172.17.0.{node}:9092 <connecting> "
                "[IPv4 ('172.17.0.{node}', 9092)]> timed out"
            ),
        ),
        ("WARNING", "kafka.client", "Node {node} connection failed -- refreshing metadata"),
        _PYTHON_EXPIRED,
    ),
}

_HANDSHAKE = (
    f"{PRODUCER}Connection to node -{{node}} ({{host}}/{{ip}}:{{port}}) failed authentication due to: SSL "
    "handshake failed"
)
_SSL_PYTHON = "ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: "


def _ssl_python(reason: str) -> Words:
    text = (
        f"Failed to bootstrap: {_CONNECTION}\nTraceback (most recent call last):\n{_SSL_PYTHON}{reason} (_ssl.c:1006)"
    )
    return (("ERROR", "ledger", text), _NO_BROKERS)


TLS: dict[str, Words] = {
    JAVA: (
        ("ERROR", NETWORK_CLIENT, _HANDSHAKE),
        java_failed(
            "SslAuthenticationException: SSL handshake failed\nCaused by: "
            "javax.net.ssl.SSLHandshakeException: PKIX path "
            "building failed: sun.security.provider.certpath.SunCertPathBuilderException: unable to find valid "
            "certification path to requested target"
        ),
    ),
    RDKAFKA: (
        (
            RAW,
            "3|FAIL",
            (
                f"{_RD_BOOT}SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: "
                "broker certificate "
                "could not be verified, verify that ssl.ca.location is correctly configured or root "
                "CA certificates are "
                "installed (install ca-certificates package) (after 9ms in state SSL_HANDSHAKE)"
            ),
        ),
        librdkafka_failed(_MESSAGE_TIMED_OUT),
    ),
    KAFKA_PYTHON: _ssl_python("unable to get local issuer certificate"),
    SARAMA: (
        (
            RAW,
            "sarama",
            (
                "client/metadata got error from broker -1 while fetching metadata: tls: failed to verify "
                "certificate: x509: "
                "certificate signed by unknown authority"
            ),
        ),
        _RUN_OUT,
    ),
}

EXPIRED_CERTIFICATE: dict[str, Words] = {
    JAVA: (
        ("ERROR", NETWORK_CLIENT, _HANDSHAKE),
        java_failed(
            "SslAuthenticationException: SSL handshake failed\nCaused by: "
            "javax.net.ssl.SSLHandshakeException: PKIX path "
            "validation failed: java.security.cert.CertPathValidatorException: validity check failed\nCaused by: "
            "java.security.cert.CertificateExpiredException: NotAfter: Mon Nov 16 23:59:59 UTC 2026"
        ),
    ),
    RDKAFKA: (
        (
            RAW,
            "3|FAIL",
            (
                f"{_RD_BOOT}SSL handshake failed: error:0A000415:SSL routines::sslv3 alert certificate expired: "
                "SSL alert number 45 (after 11ms in state SSL_HANDSHAKE)"
            ),
        ),
        librdkafka_failed(_MESSAGE_TIMED_OUT),
    ),
    KAFKA_PYTHON: _ssl_python("certificate has expired"),
}

DNS: dict[str, Words] = {
    JAVA: (
        (
            "WARN",
            "o.a.k.clients.ClientUtils",
            "Couldn't resolve server {host}:9092 from bootstrap.servers as DNS resolution failed for {host}",
        ),
        (
            "ERROR",
            WRITER,
            (
                "could not start\norg.apache.kafka.common.KafkaException: Failed to construct kafka "
                "producer\nCaused by: "
                "org.apache.kafka.common.config.ConfigException: No resolvable bootstrap urls given "
                "in bootstrap.servers"
            ),
        ),
    ),
    RDKAFKA: (
        (
            RAW,
            "3|FAIL",
            (
                f"{_RD_BOOT}Failed to resolve '{{host}}:{{port}}': Temporary failure in name resolution "
                "(after 5014ms in state CONNECT)"
            ),
        ),
        librdkafka_failed(_MESSAGE_TIMED_OUT),
    ),
    KAFKA_PYTHON: (
        (
            "WARNING",
            "kafka.conn",
            (
                "DNS lookup failed for {host}:9092, exception was [Errno -3] Temporary failure in name resolution. "
                "Is your advertised.listeners (called advertised.host.name before Kafka 9) correct and resolvable?"
            ),
        ),
        _NO_BROKERS,
    ),
}

_INVALID = "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512"

SASL: dict[str, Words] = {
    JAVA: (
        (
            "ERROR",
            NETWORK_CLIENT,
            (
                f"{PRODUCER}Connection to node -{{node}} ({{host}}/{{ip}}:{{port}}) failed authentication "
                f"due to: {_INVALID}"
            ),
        ),
        java_failed(f"SaslAuthenticationException: {_INVALID}"),
    ),
    RDKAFKA: (
        (RAW, "3|FAIL", f"{_RD_BOOT}SASL authentication error: {_INVALID} (after 311ms in state AUTH_REQ)"),
        librdkafka_failed(_MESSAGE_TIMED_OUT),
    ),
    KAFKA_PYTHON: (
        (
            "INFO",
            "kafka.conn",
            f"{_CONNECTION}: Closing connection. [Error 58] SaslAuthenticationFailedError: {_INVALID}",
        ),
        _NO_METADATA_PYTHON,
    ),
    SARAMA: (
        (
            RAW,
            "sarama",
            "Error while performing SASL handshake {host}:{port}: kafka server: SASL Authentication failed",
        ),
        _RUN_OUT,
    ),
}

BROKER_GONE: dict[str, Words] = {
    JAVA: (
        ("INFO", NETWORK_CLIENT, f"{PRODUCER}Node {{node}} disconnected."),
        (
            "WARN",
            NETWORK_CLIENT,
            (
                f"{PRODUCER}Connection to node {{node}} ({{host}}/{{ip}}:9092) could not be established. Node "
                "may not be available."
            ),
        ),
    ),
    RDKAFKA: (
        (RAW, "3|FAIL", f"{_RD}Connect to ipv4#{{ip}}:9092 failed: Connection refused (after 0ms in state CONNECT)"),
    ),
    KAFKA_PYTHON: (
        ("ERROR", "kafka.conn", f"Connect attempt to {_CONNECTION} returned error 111. Disconnecting."),
        ("WARNING", "kafka.client", "Node {node} connection failed -- refreshing metadata"),
    ),
}

STARTED: dict[str, Words] = {
    JAVA: (
        ("INFO", "o.a.kafka.common.utils.AppInfoParser", "Kafka version: 3.7.1"),
        ("INFO", WRITER, "started LedgerWriter in 4.312 seconds"),
    ),
    RDKAFKA: (("INFO", "ledger", "ledger writer 5.1.0 started, librdkafka 2.6.1"),),
    KAFKA_PYTHON: (("INFO", "ledger", "ledger writer 5.1.0 started"),),
}
