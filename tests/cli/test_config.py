"""Settings: a flag before the environment, the environment before the file, the file before the default."""

from pathlib import Path

import pytest

from leadsman.catalogue import every_mode


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "leadsman.toml"
    path.write_text(
        '[diagnose]\nmaster = "local[1]"\ntimezone = "Europe/Berlin"\nmode = "idle_disconnect"\n'
        "since = 2020-12-20T08:00:00\n[diagnose.set.idle_disconnect]\nstall_seconds = 130\n",
    )
    return path


def row(told, setting: str) -> tuple[str, str]:
    """Value and origin of a setting as `leadsman config` shows it."""
    (line,) = [line for line in told.out.splitlines() if line.split("  ")[0] == setting]
    value, origin = line.removeprefix(setting).strip().rsplit("  ", 1)
    return value.strip(), origin.strip()


def test_without_anything_every_value_is_the_default(call) -> None:
    told = call("config")

    assert told.code == 0
    assert row(told, "diagnose.timezone") == ("UTC", "default")
    assert row(told, "diagnose.master") == ("-", "default")
    assert {line.split()[-1] for line in told.out.splitlines() if "." in line} == {"default"}


@pytest.mark.usefixtures("file")
def test_the_file_comes_before_the_default(call) -> None:
    told = call("config")

    assert row(told, "diagnose.master") == ("local[1]", "leadsman.toml")
    assert row(told, "diagnose.mode") == ("idle_disconnect", "leadsman.toml")
    assert row(told, "diagnose.set") == ("idle_disconnect.stall_seconds=130", "leadsman.toml")
    assert row(told, "idle_disconnect.stall_seconds") == ("130", "leadsman.toml")
    assert row(told, "idle_disconnect.reset_seconds") == ("3.0", "default")


@pytest.mark.usefixtures("file")
def test_the_environment_comes_before_the_file(call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADSMAN_DIAGNOSE_TIMEZONE", "Asia/Tokyo")
    monkeypatch.setenv("LEADSMAN_DIAGNOSE_SET", "idle_disconnect.stall_seconds=20 idle_disconnect.least_harmed=0.5")

    told = call("config")

    assert row(told, "diagnose.timezone") == ("Asia/Tokyo", "LEADSMAN_DIAGNOSE_TIMEZONE")
    assert row(told, "idle_disconnect.least_harmed") == ("0.5", "LEADSMAN_DIAGNOSE_SET")
    assert row(told, "diagnose.master") == ("local[1]", "leadsman.toml")


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize(
    ("words", "named"), [((), "Nowhere/Variable"), (("--timezone", "Nowhere/Flag"), "Nowhere/Flag")]
)
def test_a_flag_comes_before_the_environment(
    call, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], named: str
) -> None:
    monkeypatch.setenv("LEADSMAN_DIAGNOSE_TIMEZONE", "Nowhere/Variable")

    told = call("diagnose", "nothing-here", *words)

    assert repr(named) in told.err


@pytest.mark.usefixtures("file")
def test_what_the_file_says_is_what_a_command_does(call, file: Path) -> None:
    file.write_text('[diagnose]\nformat = "console"\ntimezone = "Nowhere/File"\nspark-conf = ["a=b"]\n')

    assert "'Nowhere/File'" in call("diagnose", "nothing-here").err


def test_another_file_can_be_named(call, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('[diagnose]\nmaster = "local[3]"\n')

    assert row(call("--config", "other.toml", "config"), "diagnose.master") == ("local[3]", "other.toml")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[diagnose]\nmastre = "x"\n', "spark-conf"),
        ('[diagnos]\nmaster = "x"\n', "[diagnose]"),
        ('master = "x"\n', "[diagnose]"),
        ("[diagnose\n", "TOML"),
        ("\xff", "TOML"),
    ],
)
def test_a_file_that_would_not_be_obeyed_is_refused(call, file: Path, text: str, says: str) -> None:
    file.write_bytes(text.encode("latin-1"))

    told = call("config")

    assert told.code == 2
    assert "leadsman.toml" in told.err
    assert says in told.err


def test_a_file_that_was_named_must_be_there(call) -> None:
    told = call("--config", "nowhere.toml", "config")

    assert told.code == 2
    assert "nowhere.toml" in told.err


def test_every_threshold_is_shown(call) -> None:
    told = call("config")

    assert all(f"\n{mode.name}.{name} " in told.out for mode in every_mode() for name in mode.parameters)


def test_no_secret_is_shown(call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADSMAN_DIAGNOSE_SPARK_CONF", "spark.hadoop.fs.s3a.secret.key=hunter2hunter2")

    told = call("config")

    assert "hunter2" not in told.out
    assert "spark.hadoop.fs.s3a.secret.key=" in told.out
