"""A file that cannot be read, or that is made to harm, costs itself only, and is named on standard error."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

BROKEN = 'from confluent_kafka import Producer\nproducer = Producer({"bootstrap.servers": "x", "retries": 0})\n'

FILES = {
    "binary.py": b"import kafka\0\1\2",
    "long_line.py": b"kafka = '" + b"a" * 10_000_000 + b"'\n",
    "long_line.ts": b"// kafka " + b"a" * 10_000_000,
    "deep.py": b"kafka = " + b"[" * 5000 + b"]" * 5000,
    "deep.ts": b"const kafka = " + b"[" * 50_000 + b"]" * 50_000,
    "deep.json": b'{"kafka": ' + b"[" * 100_000,
    "deep.java": b"class kafka { int x = " + b"(" * 20_000 + b"1" + b")" * 20_000 + b"; }",
    "deep.yml": b"kafka: " + b"[" * 5000 + b"]" * 5000,
    "aliases.yml": b"kafka: &a [x, x, x, x, x, x, x, x, x]\n"
    + b"".join(b"%c: &%c [%s]\n" % (98 + i, 98 + i, b", ".join([b"*%c" % (97 + i)] * 9)) for i in range(9)),
    "syntax.py": b"import kafka\ndef (:\n",
    "syntax.yml": b"kafka: [1, 2\nb: }",
    "syntax.toml": b"kafka = = 1",
}


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    (tmp_path / "zz_broken.py").write_text(BROKEN, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_costs_itself_only(call, broken: Path, name: str) -> None:
    (broken / name).write_bytes(FILES[name])
    begun = time.monotonic()

    result = call("check", "program", broken)

    assert result.code == 1
    assert "lost_without_retry" in result.out
    assert name in result.err
    assert time.monotonic() - begun < 10


SETTINGS = "bootstrap.servers=kafka:9092\nretries=0\nlinger.ms=5\nbatch.size=9\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_a_text_is_read_in_the_encoding_of_its_mark(call, tmp_path: Path, encoding: str) -> None:
    (tmp_path / "producer.properties").write_text(f"# gr\u00fc\u00dfe\n{SETTINGS}", encoding=encoding)

    result = call("check", "program", tmp_path)

    assert result.code == 1
    assert "producer.properties:3:1: lost_without_retry" in result.out


@pytest.mark.parametrize(
    "text", ["class { kafka ((", "import kafka.*\nfun (", "package kafka\nfunc {", "resource kafka {"]
)
@pytest.mark.parametrize("suffix", [".java", ".kt", ".go", ".ts", ".tf"])
def test_broken_syntax_is_read_as_far_as_it_goes(call, broken: Path, text: str, suffix: str) -> None:
    (broken / f"broken{suffix}").write_text(text, encoding="utf-8")

    result = call("check", "program", broken)

    assert result.code == 1
    assert result.err == ""


def test_links_in_a_loop_are_not_followed(call, broken: Path) -> None:
    (broken / "inner").mkdir()
    (broken / "inner" / "again").symlink_to(broken, target_is_directory=True)
    (broken / "kafka_nowhere.py").symlink_to(broken / "nothing.py")

    result = call("check", "program", broken)

    assert result.code == 1
    assert result.out.count("zz_broken.py") == 1
    assert "kafka_nowhere.py" in result.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_named(call, broken: Path) -> None:
    secret = broken / "kafka_secret.py"
    secret.write_text(BROKEN, encoding="utf-8")
    secret.chmod(0)

    result = call("check", "program", broken)

    assert result.code == 1
    assert "kafka_secret.py" in result.err


def test_a_pipe_does_not_block(call, broken: Path) -> None:
    os.mkfifo(broken / "kafka_pipe.py")

    result = call("check", "program", broken)

    assert result.code == 1
    assert "kafka_pipe.py" in result.err


NO_INVENTORIES = {
    "deep list": "[" * 100_000,
    "deep mapping": '{"a":' * 100_000,
    "deep modules": '{"values": {"root_module": ' + '{"child_modules": [' * 400 + "{}" + "]}" * 400 + "}}",
    "number": "5",
    "long number": "9" * 5000,
    "no text": "\ud800",
    "modules of another kind": '{"values": {"root_module": {"resources": [5], "child_modules": 7}}}',
    "values of another kind": '{"values": [1]}',
    "policies of another kind": '[{"scheduling": [1]}]',
    "scheduling of another kind": '{"values": {"root_module": {"resources": '
    '[{"type": "google_compute_instance", "values": {"scheduling": 5}}]}}}',
}


@pytest.mark.parametrize("name", NO_INVENTORIES)
@pytest.mark.parametrize("words", [(), ("--brokers", "[")])
def test_what_is_no_inventory_is_named(call, tmp_path: Path, name: str, words: tuple[str, ...]) -> None:
    (tmp_path / "x.json").write_text(NO_INVENTORIES[name], encoding="utf-8", errors="surrogatepass")

    result = call("check", "cloud", "x.json", *words)

    assert result.code == 2
    assert result.err.startswith("leadsman: x.json ")
    assert "internal error" not in result.err


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "5", '{"schema": []}', '{"schema": "leadsman.baseline/1", "findings": 5}']
)
def test_what_is_no_baseline_is_named(call, broken: Path, text: str) -> None:
    (broken / "baseline.json").write_text(text, encoding="utf-8")

    result = call("check", "program", broken, "--baseline", broken / "baseline.json")

    assert result.code == 2
    assert "baseline.json is no" in result.err


@pytest.mark.parametrize("words", [("cloud",), ("topics",), ("host", "--settings")])
def test_a_device_that_never_ends_is_refused(call, words: tuple[str, ...]) -> None:
    result = call("check", *words, "/dev/zero")

    assert result.code == 2
    assert "/dev/zero is a device, not a file" in result.err


def test_topics_come_from_a_pipe(call, tmp_path: Path) -> None:
    pipe = tmp_path / "topics"
    os.mkfifo(pipe)
    text = "Topic: orders\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: min.insync.replicas=1\n"
    with ThreadPoolExecutor(1) as writer:
        written = writer.submit(pipe.write_text, text)
        result = call("check", "topics", pipe)

    assert written.result() == len(text)
    assert result.code == 1
    assert "orders" in result.out
