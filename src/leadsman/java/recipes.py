"""The sets of jars in `jars.lock`, each by the coordinates that it is resolved from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Recipe:
    """A set: `roots` with their dependencies, except `without` (group:artifact); `alone` without dependencies."""

    roots: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


LOGGING_1 = ("org.slf4j:slf4j-reload4j:1.7.36", "ch.qos.reload4j:reload4j:1.2.25")
"""SLF4J 1.7's binding to the maintained log4j 1: every Kafka client from 2.x to 4.x speaks SLF4J 1.7."""


OLD_LOGGING = ("org.slf4j:slf4j-log4j12", "log4j:log4j")
"""Replaced by LOGGING_1: with two bindings on one class path, SLF4J uses either of them."""


TEST_LIBRARIES = (
    "junit:junit",
    "org.hamcrest:hamcrest-core",
    "org.mockito:mockito-core",
    "net.bytebuddy:byte-buddy",
    "net.bytebuddy:byte-buddy-agent",
    "org.objenesis:objenesis",
)
"""Unused dependencies of an old ZooKeeper."""


AWS_MODULES = (
    "annotations",
    "apache-client",
    "arns",
    "auth",
    "aws-core",
    "aws-query-protocol",
    "aws-xml-protocol",
    "checksums",
    "checksums-spi",
    "crt-core",
    "endpoints-spi",
    "http-auth",
    "http-auth-aws",
    "http-auth-aws-eventstream",
    "http-auth-spi",
    "http-client-spi",
    "identity-spi",
    "json-utils",
    "metrics-spi",
    "netty-nio-client",
    "profiles",
    "protocol-core",
    "regions",
    "retries",
    "retries-spi",
    "s3",
    "s3-transfer-manager",
    "sdk-core",
    "sts",
    "third-party-jackson-core",
    "utils",
    "utils-lite",
)
"""The modules of Amazon's SDK that `s3a://` loads, 13 MB. The bundle that hadoop-aws depends on has over 600 MB."""


S3PROXY = (
    "aopalliance:aopalliance:1.0",
    "args4j:args4j:2.37",
    "ch.qos.logback:logback-classic:1.5.16",
    "ch.qos.logback:logback-core:1.5.16",
    "com.fasterxml.jackson.core:jackson-annotations:2.18.2",
    "com.fasterxml.jackson.core:jackson-core:2.18.2",
    "com.fasterxml.jackson.core:jackson-databind:2.18.2",
    "com.fasterxml.jackson.dataformat:jackson-dataformat-xml:2.18.2",
    "com.fasterxml.woodstox:woodstox-core:7.0.0",
    "com.google.code.findbugs:jsr305:3.0.2",
    "com.google.code.gson:gson:2.11.0",
    "com.google.errorprone:error_prone_annotations:2.36.0",
    "com.google.guava:failureaccess:1.0.2",
    "com.google.guava:guava:33.4.0-jre",
    "com.google.inject.extensions:guice-assistedinject:7.0.0",
    "com.google.inject:guice:7.0.0",
    "jakarta.annotation:jakarta.annotation-api:2.0.0",
    "jakarta.inject:jakarta.inject-api:2.0.1",
    "jakarta.xml.bind:jakarta.xml.bind-api:4.0.2",
    "org.apache.jclouds.api:oauth:2.7.0",
    "org.apache.jclouds.api:openstack-keystone:2.7.0",
    "org.apache.jclouds.api:openstack-swift:2.7.0",
    "org.apache.jclouds.api:rackspace-cloudfiles:2.7.0",
    "org.apache.jclouds.api:rackspace-cloudidentity:2.7.0",
    "org.apache.jclouds.api:s3:2.7.0",
    "org.apache.jclouds.api:sts:2.7.0",
    "org.apache.jclouds.driver:jclouds-slf4j:2.7.0",
    "org.apache.jclouds.provider:aws-s3:2.7.0",
    "org.apache.jclouds.provider:azureblob:2.7.0",
    "org.apache.jclouds.provider:b2:2.7.0",
    "org.apache.jclouds.provider:google-cloud-storage:2.7.0",
    "org.apache.jclouds.provider:rackspace-cloudfiles-uk:2.7.0",
    "org.apache.jclouds.provider:rackspace-cloudfiles-us:2.7.0",
    "org.apache.jclouds:jclouds-blobstore:2.7.0",
    "org.apache.jclouds:jclouds-core:2.7.0",
    "org.codehaus.woodstox:stax2-api:4.2.2",
    "org.eclipse.jetty.toolchain:jetty-jakarta-servlet-api:5.0.2",
    "org.gaul:s3proxy:2.6.0",
    "org.slf4j:slf4j-api:2.0.16",
)
"""An S3 server in front of a folder: the jars that it loads, of 132 that it depends on."""


def _clients_recipe(version: str) -> Recipe:
    return Recipe((f"org.apache.kafka:kafka-clients:{version}",), LOGGING_1)


def _streams_recipe(version: str) -> Recipe:
    """Streams with its client. Without RocksDB: 60 MB that only a topology with a state store needs."""
    roots = (f"org.apache.kafka:kafka-streams:{version}", f"org.apache.kafka:kafka-clients:{version}")
    return Recipe(roots, LOGGING_1, without=(*OLD_LOGGING, "org.rocksdb:rocksdbjni"))


def _zookeeper_recipe(version: str, *, scala: str = "2.13", zookeeper: str = "") -> Recipe:
    """Broker, ZooKeeper and tools. `zookeeper` replaces the version that the broker depends on."""
    replacement = (f"org.apache.zookeeper:zookeeper:{zookeeper}",) if zookeeper else ()
    return Recipe(
        (f"org.apache.kafka:kafka_{scala}:{version}", *replacement), LOGGING_1, without=(*OLD_LOGGING, *TEST_LIBRARIES)
    )


RECIPES = {
    # kafka-clients stands beside the broker because the resolver otherwise picks 3.9.1 out of an old dependency.
    # kafka-tools comes alone: with its dependencies it brings Connect, Jetty and Jersey, fifty jars that nothing here
    # runs. The broker logs through SLF4J 1.7 to log4j 2 and depends on no binding itself.
    "kafka-4.3.1": Recipe(
        ("org.apache.kafka:kafka_2.13:4.3.1", "org.apache.kafka:kafka-clients:4.3.1"),
        ("org.apache.kafka:kafka-tools:4.3.1", "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"),
    ),
    # ZooKeeper 3.4.14, which 2.3.1 depends on, cannot read how Java 14 and newer write an address.
    "kafka-2.3.1": _zookeeper_recipe("2.3.1", scala="2.12", zookeeper="3.5.9"),
    "kafka-2.4.1": _zookeeper_recipe("2.4.1"),
    "kafka-2.8.2": _zookeeper_recipe("2.8.2"),
    # 2.7 is the last that says "The server disconnected before a response was received."
    "clients-2.7.2": _clients_recipe("2.7.2"),
    "clients-2.8.2": _clients_recipe("2.8.2"),
    "clients-3.9.2": _clients_recipe("3.9.2"),
    "clients-4.3.1": _clients_recipe("4.3.1"),
    # Streams died of a commit's timeout up to 2.7; since 2.8 a task has its own.
    "streams-2.3.1": _streams_recipe("2.3.1"),
    "streams-2.7.2": _streams_recipe("2.7.2"),
    "streams-2.8.2": _streams_recipe("2.8.2"),
    "streams-4.3.1": _streams_recipe("4.3.1"),
    # The smallest set that reads and writes Delta and Kafka. 4.4.1 of Delta and 4.2.0 of the token provider are not
    # in the central repository; with all dependencies there would be 41 jars, several older than Spark's own.
    "spark-4.2": Recipe(
        (),
        (
            "io.delta:delta-spark_4.2_2.13:4.4.0",
            "io.delta:delta-storage:4.4.0",
            "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
            "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.0-preview1",
            "org.apache.kafka:kafka-clients:3.9.2",
            "org.apache.commons:commons-pool2:2.13.1",
        ),
    ),
    # HDFS in one process, and `s3a://` for Spark, both of the Hadoop that PySpark ships. Other dependencies of
    # hadoop-aws, such as Netty and httpclient, are among Spark's own jars.
    "hdfs": Recipe(
        (),
        (
            "org.apache.hadoop:hadoop-client-minicluster:3.5.0",
            "org.junit.jupiter:junit-jupiter-api:5.13.3",  # its cluster makes its folders with what tests use
            "org.junit.platform:junit-platform-commons:1.13.3",
            "org.opentest4j:opentest4j:1.3.0",
        ),
    ),
    "s3": Recipe(
        (),
        (
            "org.apache.hadoop:hadoop-aws:3.5.0",
            "software.amazon.eventstream:eventstream:1.0.1",
            "org.reactivestreams:reactive-streams:1.0.4",
            "software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3:1.3.1",
            *(f"software.amazon.awssdk:{module}:2.35.4" for module in AWS_MODULES),
        ),
    ),
    "s3proxy": Recipe((), S3PROXY),
    # What brokers in production are scraped through. Newer than 1.0.1 is not in the central repository as one jar.
    "metrics": Recipe((), ("io.prometheus.jmx:jmx_prometheus_javaagent:1.0.1",)),
    # Eclipse's compiler: one jar that compiles Java on a runtime without javac. Newer than 3.40 need Java 21.
    "ecj": Recipe((), ("org.eclipse.jdt:ecj:3.40.0",)),
    # Looks for many texts at once, in the Streams program that a watch is compared with.
    "aho-corasick": Recipe((), ("org.ahocorasick:ahocorasick:0.6.3",)),
}

TEST_SETS = ("hdfs", "s3proxy", "aho-corasick")
"""Sets that only the tests and the benchmarks need."""
