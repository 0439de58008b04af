"""A planted secret leaves by no exit of `leadsman collect`, `diagnose` and `watch`."""

from __future__ import annotations

import gzip
import io
import logging
import shutil
import subprocess
import sys
import zlib
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BODY = "MIIEvQIBADANBgkq" + "hkiG9w0BAQEFAASC" + "BKcwggSjAgEAAoIB" + "AQC7VJTUt9Us8cKj"
SECRETS = {
    "error": "hunter2" + "Qx7",
    "gap": "hunter2" + "Wz8",
    "url": "hun/ter@2" + "Ev9",
    "json": "hunter2 " + "Rb4, Tn5",
    "settings": "hunter2" + "Yk6",
    "listing": "hunter2" + "Um1",
    "far": "hunter2" + "Io3" * 600,
    "key": BODY,
    "slack": "xo" + "xb-17653672481-" + "19874698323-" + "pdFZKVeTuE8sk7oOcBrzbqgy",
}
PARTS = ["hunter2", "ter@2", "Ev9", "Rb4", "Tn5", "Io3Io3", BODY[:16], BODY[20:40], "pdFZKVeTuE8sk7", "19874698323"]


def left_in(text: str) -> list[str]:
    return [part for part in PARTS if part in text]


@pytest.fixture
def logs(recorded: Callable[[str], Path], tmp_path: Path) -> Path:
    """A recorded failure whose logs hold secrets: around its evidence, in errors, at silences, in settings."""
    folder = tmp_path / "logs"
    shutil.copytree(recorded("broken-java"), folder)
    for log in sorted(folder.glob("clients/*.log")):
        log.write_text(with_secrets(log.read_text().splitlines()))
    first = (folder / "clients" / "worker-1.log").read_text()[:23]
    (folder / "login.log").write_text(errors_at(first))
    (folder / "producer.properties").write_text(
        "bootstrap.servers=a:9092\nacks=all\nlinger.ms=5\nkey.serializer=x\n"
        f"sasl.jaas.config=PlainLoginModule required password={SECRETS['settings']};\n"
        f"ssl.key.password={SECRETS['settings']}, and more\n"
    )
    (folder / "configs.txt").write_text(
        "Dynamic configs for broker 1 are:\n"
        f"  listener.sasl.jaas.config=x password={SECRETS['listing']} sensitive=false synonyms={{}}\n"
        f"  my.password={SECRETS['listing']} sensitive=false synonyms={{DYNAMIC_BROKER_CONFIG:my.password=x}}\n"
    )
    (folder / "flags.txt").write_text(
        f"-XX:MaxHeapSize=1 -XX:OnError=login:--password={SECRETS['settings']} -XX:+UseG1GC\n"
    )
    return folder


def with_secrets(lines: list[str]) -> str:
    """Plant secrets on each line with a time, and below it: whichever line is quoted or shown has some beside it."""
    planted: list[str] = []
    for line in lines:
        planted.append(line)
        if line[:4].isdigit():
            planted[-1] += f" password={SECRETS['gap']}"
            planted += ["-----BEGIN PRIVATE KEY-----", *[BODY] * 3, "-----END PRIVATE KEY-----"]
    return "\n".join(planted) + "\n"


def errors_at(time: str) -> str:
    """Errors that no signature knows, with secrets in all their parts."""
    head = f"{time} ERROR [main] com.acme"
    key = ("-----BEGIN PRIVATE KEY-----", *[BODY] * 3, "-----END PRIVATE KEY-----")
    return "".join(f"{head}.Key - {line}\n" for line in key) + (
        f"{head}.Login - login to https://app:{SECRETS['url']}@registry/x failed for token={SECRETS['error']}\n"
        f'{head}.Slack - {{"password":"{SECRETS["json"]}","hook":"{SECRETS["slack"]}"}}\n'
        f'{head}.Long - password="{SECRETS["far"]} java.io.IOException: No space left on device" end\n'
    )


def tables_of(folder: Path) -> str:
    return "".join(str(pq.read_table(path).to_pylist()) for path in folder.rglob("*.parquet"))


def files_of(folder: Path) -> str:
    """All files as text: plain, compressed, and the states of streams."""
    texts = []
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            texts.append(data.decode("utf-8", "replace"))
            if data[:2] == b"\x1f\x8b":
                texts.append(gzip.decompress(data).decode("utf-8", "replace"))
            if data.startswith(b"leadsman.stream_state"):
                texts.append(zlib.decompress(data.partition(b"\n")[2]).decode("utf-8", "replace"))
    return "".join(texts)


def test_collect_writes_no_secret(call, logs: Path, tmp_path: Path) -> None:
    result = call("collect", "logs", logs, "--out", tmp_path / "capture")

    assert result.code == 0
    assert left_in(files_of(logs)) == PARTS
    assert left_in(files_of(tmp_path / "capture")) == []
    assert left_in(result.out + result.err) == []


def test_collect_shows_no_secret_of_what_it_could_not_collect(call, tmp_path: Path) -> None:
    result = call("collect", "logs", tmp_path / f"password={SECRETS['error']}", "--out", tmp_path / "capture")

    assert result.code == 2
    assert left_in(result.out + result.err + files_of(tmp_path / "capture")) == []


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_diagnose_shows_and_writes_no_secret(call, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADSMAN_DEBUG", "1")
    console = call("diagnose", logs)
    document = call("diagnose", logs, "--out", tmp_path / "report", "--format", "json")

    events = tables_of(tmp_path / "report")
    assert console.code == document.code == 1
    assert "com.acme.Login" in events
    assert left_in(console.out + console.err) == []
    assert left_in(document.out + document.err) == []
    assert left_in(files_of(tmp_path / "report")) == []
    assert left_in(events) == []


@pytest.mark.spark
@pytest.mark.timeout(900)
@pytest.mark.long
def test_watch_keeps_no_secret_in_its_tables_and_states(logs: Path, tmp_path: Path) -> None:
    words = ("--replay", str(logs), "--until-end", "--interval", "0", "--to", str(tmp_path / "state"))
    done = subprocess.run(
        [sys.executable, "-m", "leadsman", "watch", *words], capture_output=True, text=True, check=False
    )

    assert done.returncode == 1, done.stderr
    assert "com.acme.Login" in tables_of(tmp_path / "state")
    assert left_in(done.stdout + done.stderr) == []
    assert left_in(tables_of(tmp_path / "state")) == []
    assert left_in(files_of(tmp_path / "state")) == []


def test_an_error_message_shows_no_secret(call) -> None:
    wrong = call("diagnose", f"/nowhere/password={SECRETS['error']}")
    unknown = call("diagnose", f"--password={SECRETS['error']}", ".")

    assert (wrong.code, unknown.code) == (2, 2)
    assert left_in(wrong.out + wrong.err + unknown.out + unknown.err) == []


def test_debug_output_shows_no_secret(call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADSMAN_DEBUG", "1")
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    call("modes")
    (handler,) = logging.getLogger().handlers
    assert isinstance(handler, logging.StreamHandler)
    handler.setStream(io.StringIO())

    logging.getLogger("leadsman").warning("cannot connect with password=%s", SECRETS["error"])

    assert "[hidden]" in handler.stream.getvalue()
    assert left_in(handler.stream.getvalue()) == []
