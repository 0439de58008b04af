"""Fetches the exact jars of `jars.lock` once, and returns their paths.

The lock names every jar of a set, transitive ones too, by coordinate and SHA-256, and no host: the resolver knows the
central repository. A jar is verified before it is renamed into place, so a path that exists is a verified jar,
and later calls need neither a resolver nor a network.

`python -m leadsman.java.jars lock [SET...]` writes the lock, or some of its sets, from RECIPES;
`python -m leadsman.java.jars fetch [SET...]` fetches.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import LeadsmanError, MissingExtra, UsageError
from leadsman.installation import install_command

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

PARALLEL_DOWNLOADS = 8
"""Parallel downloads: many small files one after the other take longer."""

DOWNLOAD_ATTEMPTS = 3
"""One connection reset must not fail a set-up of ninety files."""

NETWORK_SECONDS = 60
"""Timeout of a repository's response. The resolver's own 10 s are too short behind a company's proxy."""


class JarNotFetched(LeadsmanError):
    """A jar is not in the cache, and the repository did not deliver it."""


@dataclass(frozen=True, slots=True)
class Jar:
    """One line of the lock. `coordinate` is group:artifact:version, `sha256` is in hexadecimal."""

    coordinate: str
    sha256: str

    @property
    def name(self) -> str:
        """The file's name, as every Java tool expects it: artifact-version.jar."""
        _, artifact, version = self.coordinate.split(":")
        return f"{artifact}-{version}.jar"

    @property
    def path(self) -> Path:
        """Where the verified jar is kept. The hash is in it, so another build of the same version is another file."""
        return cache_folder() / "jars" / self.sha256[:16] / self.name


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
    # Streams died of a commit's time-out up to 2.7; since 2.8 a task has its own.
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
}

TEST_SETS = ("hdfs", "s3proxy")
"""Sets that only the tests need."""


def cache_folder() -> Path:
    """Return the folder for files that can be fetched or made again: below XDG_CACHE_HOME, else below ~/.cache."""
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "leadsman"


def jar_sets(text: str | None = None) -> dict[str, tuple[Jar, ...]]:
    """Return the sets of the lock that ships with the package, or of `text`."""
    if text is None:
        text = resources.files("leadsman.java").joinpath("jars.lock").read_text(encoding="utf-8")
    sets: dict[str, list[Jar]] = {}
    current: list[Jar] = []
    for line in text.splitlines():
        if line.startswith("["):
            current = sets.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            current.append(Jar(*line.split()))
    return {name: tuple(jars) for name, jars in sets.items()}


def fetch_jars(name: str) -> list[Path]:
    """Return the paths of a set's jars, in the lock's order, fetching those that are not there yet."""
    sets = jar_sets()
    if name not in sets:
        raise UsageError(f"No set of jars is called {name}. There are: {', '.join(sets)}.")
    missing = [jar for jar in sets[name] if not jar.path.exists()]
    if missing:
        with ThreadPoolExecutor(PARALLEL_DOWNLOADS) as pool:
            list(pool.map(_fetch_one, missing))
    return [jar.path for jar in sets[name]]


def _fetch_one(jar: Jar) -> None:
    jar.path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=jar.path.parent) as scratch:
        source = _maven_copy(jar) or _download(jar, Path(scratch) / "repository")
        ready = Path(scratch) / jar.name
        shutil.copyfile(source, ready)
        ready.replace(jar.path)


def _maven_copy(jar: Jar) -> Path | None:
    """Return the jar from the user's Maven repository, if it is there with the right SHA-256."""
    group, artifact, version = jar.coordinate.split(":")
    path = Path("~/.m2/repository").expanduser() / group.replace(".", "/") / artifact / version / jar.name
    return path if path.is_file() and sha256_of(path) == jar.sha256 else None


def _download(jar: Jar, repository: Path) -> Path:
    reason = ""
    for attempt in range(DOWNLOAD_ATTEMPTS):
        try:
            path = resolve(jar.coordinate, repository / str(attempt))
        except (OSError, RuntimeError) as error:
            reason = f"{type(error).__name__}: {error}"
            continue
        if sha256_of(path) == jar.sha256:
            return path
        reason = f"the downloaded file has another SHA-256 ({sha256_of(path)}) than jars.lock"
    raise JarNotFetched(
        f"Could not fetch {jar.coordinate}: {reason}. Its place is {jar.path}. "
        "Try again with a network, or copy a filled cache (`python -m leadsman.java.jars fetch` fills it)."
    )


def resolve(coordinate: str, repository: Path) -> Path:
    """Download one jar into `repository`, a temporary folder: an interrupted resolver leaves an incomplete file."""
    try:
        from jgo.maven import MavenContext
    except ImportError as error:
        raise MissingExtra(f"Fetching jars needs jgo. Install it: {install_command('spark')}") from error
    group, artifact, version = coordinate.split(":")
    context = MavenContext(repo_cache=repository, timeout=NETWORK_SECONDS)
    return Path(context.project(group, artifact).at_version(version).artifact().resolve())


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def make_lock(names: Collection[str] = ()) -> str:
    """Return the text of a new lock: recipes resolved, jars fetched and hashed. Takes a minute.

    With `names`, only those sets are resolved again; all others are copied from the lock that ships with the package.
    """
    existing = jar_sets() if names else {}
    with tempfile.TemporaryDirectory() as scratch:
        sections = [
            _section(
                name,
                existing[name] if name in existing and name not in names else _resolve_set(name, recipe, Path(scratch)),
            )
            for name, recipe in RECIPES.items()
        ]
    return "# Made by `python -m leadsman.java.jars lock`. group:artifact:version sha256\n" + "".join(sections)


def _section(name: str, jars: Iterable[Jar]) -> str:
    return f"\n[{name}]\n" + "".join(f"{jar.coordinate} {jar.sha256}\n" for jar in jars)


def _resolve_set(name: str, recipe: Recipe, scratch: Path) -> list[Jar]:
    coordinates = {*_resolve_dependencies(recipe.roots, scratch / f"{name}.env"), *recipe.alone}
    selected = sorted(coordinate for coordinate in coordinates if coordinate.rpartition(":")[0] not in recipe.without)
    return [Jar(coordinate, sha256_of(resolve(coordinate, scratch / "repository"))) for coordinate in selected]


def _resolve_dependencies(roots: tuple[str, ...], environment: Path) -> list[str]:
    """Resolve `roots` together. In a new folder: after a failed build jgo uses the incomplete one."""
    if not roots:
        return []
    import jgo

    built = jgo.build("+".join(roots), cache_dir=environment)
    names = {path.name for path in built.all_jars}
    return [
        _coordinate_from_path(path)
        for path in sorted(Path("~/.m2/repository").expanduser().rglob("*.jar"))
        if path.name in names
    ]


def _coordinate_from_path(path: Path) -> str:
    """Read a coordinate back out of a path in a Maven repository: group/as/path/artifact/version/file."""
    parts = path.relative_to(Path("~/.m2/repository").expanduser()).parts
    return f"{'.'.join(parts[:-3])}:{parts[-3]}:{parts[-2]}"


def main(arguments: list[str]) -> None:
    """Run `lock [SET...]` or `fetch [SET...]`."""
    match arguments:
        case ["lock", *names]:
            text = make_lock(names)
            Path(str(resources.files("leadsman.java").joinpath("jars.lock"))).write_text(text, encoding="utf-8")
        case ["fetch", *names]:
            for name in names or jar_sets():
                sys.stdout.write(f"{name}: {len(fetch_jars(name))} jars\n")
        case _:
            raise SystemExit("Usage: python -m leadsman.java.jars lock [SET...] | fetch [SET...]")


if __name__ == "__main__":
    main(sys.argv[1:])
