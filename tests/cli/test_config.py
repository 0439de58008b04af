"""Settings: a flag before the environment, the environment before the file, the file before the default."""

from pathlib import Path

import click
import pytest

from leadsman.catalogue import every_mode
from leadsman.cli.commands.config import CONFIGURED_COMMANDS
from leadsman.cli.group import group
from leadsman.cli.settings import settable, user_file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "leadsman.toml"
    path.write_text(
        '[diagnose]\ntimezone = "Europe/Berlin"\nmode = "idle_disconnect"\n'
        "since = 2020-12-20T08:00:00\n[diagnose.set.idle_disconnect]\nstall_seconds = 130\n",
    )
    return path


def row(result, setting: str) -> tuple[str, str]:
    """Value and origin of a setting as `leadsman config` shows it."""
    (line,) = [line for line in result.out.splitlines() if line.split("  ")[0] == setting]
    value, origin = line.removeprefix(setting).strip().rsplit("  ", 1)
    return value.strip(), origin.strip()


def test_without_anything_every_value_is_the_default(call) -> None:
    result = call("config")

    assert result.code == 0
    assert row(result, "diagnose.timezone") == ("UTC", "default")
    assert row(result, "diagnose.master") == ("-", "default")
    assert {line.split()[-1] for line in result.out.splitlines() if "." in line} == {"default"}


@pytest.mark.usefixtures("file")
def test_the_file_comes_before_the_default(call) -> None:
    result = call("config")

    assert row(result, "diagnose.timezone") == ("Europe/Berlin", "leadsman.toml")
    assert row(result, "diagnose.mode") == ("idle_disconnect", "leadsman.toml")
    assert row(result, "diagnose.set") == ("idle_disconnect.stall_seconds=130", "leadsman.toml")
    assert row(result, "idle_disconnect.stall_seconds") == ("130", "leadsman.toml")
    assert row(result, "idle_disconnect.reset_seconds") == ("3.0", "default")


@pytest.mark.usefixtures("file")
def test_the_environment_comes_before_the_file(call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADSMAN_DIAGNOSE_TIMEZONE", "Asia/Tokyo")
    monkeypatch.setenv("LEADSMAN_DIAGNOSE_SET", "idle_disconnect.stall_seconds=20 idle_disconnect.min_harmed_share=0.5")

    result = call("config")

    assert row(result, "diagnose.timezone") == ("Asia/Tokyo", "LEADSMAN_DIAGNOSE_TIMEZONE")
    assert row(result, "idle_disconnect.min_harmed_share") == ("0.5", "LEADSMAN_DIAGNOSE_SET")
    assert row(result, "diagnose.mode") == ("idle_disconnect", "leadsman.toml")


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize(
    ("words", "named"), [((), "Nowhere/Variable"), (("--timezone", "Nowhere/Flag"), "Nowhere/Flag")]
)
def test_a_flag_comes_before_the_environment(
    call, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], named: str
) -> None:
    monkeypatch.setenv("LEADSMAN_DIAGNOSE_TIMEZONE", "Nowhere/Variable")

    result = call("diagnose", "nothing-here", *words)

    assert repr(named) in result.err


def test_a_command_uses_the_settings_of_a_file(call, file: Path) -> None:
    file.write_text('[diagnose]\nformat = "console"\ntimezone = "Nowhere/File"\nspark-conf = ["a=b"]\n')

    assert "'Nowhere/File'" in call("--config", str(file), "diagnose", "nothing-here").err


@pytest.fixture
def own_file() -> Path:
    path = user_file()
    path.parent.mkdir(parents=True)
    path.write_text('[diagnose]\nmaster = "local[1]"\ntimezone = "Asia/Tokyo"\n')
    return path


def test_the_user_s_own_file_may_set_everything(call, own_file: Path) -> None:
    assert row(call("config"), "diagnose.master") == ("local[1]", str(own_file))


@pytest.mark.usefixtures("file")
def test_the_file_of_the_current_folder_comes_before_the_user_s_own(call, own_file: Path) -> None:
    result = call("config")

    assert row(result, "diagnose.timezone") == ("Europe/Berlin", "leadsman.toml")
    assert row(result, "diagnose.master") == ("local[1]", str(own_file))


POWERFUL = ("spark-conf", "master", "remote", "executors", "out", "notify")


@pytest.mark.parametrize("setting", POWERFUL)
def test_a_file_of_the_current_folder_cannot_run_code(call, file: Path, setting: str) -> None:
    file.write_text(f'[diagnose]\n{setting} = "spark.jars=evil.jar"\n')

    result = call("config")

    assert result.code == 0
    assert row(result, f"diagnose.{setting}") == ("-", "default")
    assert f"Ignored in ./leadsman.toml: diagnose.{setting}" in result.err
    assert "--config" in result.err


@pytest.mark.usefixtures("file")
def test_what_a_file_of_the_current_folder_sets_is_reported(call) -> None:
    assert "Settings from ./leadsman.toml: diagnose.timezone, diagnose.mode" in call("config").err


def test_a_named_file_may_set_everything(call, file: Path) -> None:
    file.write_text('[diagnose]\nspark-conf = ["a=b"]\n')

    result = call("--config", "leadsman.toml", "config")

    assert row(result, "diagnose.spark-conf") == ("a=b", "leadsman.toml")
    assert "Ignored" not in result.err


def test_another_file_can_be_named(call, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('[diagnose]\nmaster = "local[3]"\n')

    assert row(call("--config", "other.toml", "config"), "diagnose.master") == ("local[3]", "other.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[diagnose]\nmastre = "x"\n', "spark-conf"),
        ('[diagnos]\nmaster = "x"\n', "[diagnose]"),
        ('master = "x"\n', "[diagnose]"),
        ("[diagnose\n", "TOML"),
        ("\xff", "TOML"),
    ],
)
def test_a_file_of_the_user_that_would_not_be_obeyed_is_refused(call, file: Path, text: str, message: str) -> None:
    file.write_bytes(text.encode("latin-1"))

    result = call("--config", file, "config")

    assert result.code == 2
    assert "leadsman.toml" in result.err
    assert message in result.err
    assert "It has: ." not in result.err


IGNORED = {
    "[remedy]\nyes = true\ndo = true\n": "remedy.yes, remedy.do",
    '[collect.kafka]\nbootstrap = "evil:9092"\n': "collect.kafka",
    '[diagnose]\nmastre = "x"\n': "diagnose.mastre",
    '[diagnos]\nmaster = "x"\n': "diagnos",
    'master = "x"\n': "master",
    "[diagnose\n": "the whole file, which is no TOML",
    "\xff": "the whole file, which is no TOML",
    "a = " + "[" * 100_000: "the whole file, which is no TOML",
    "# " + "a" * 2_000_000: "the whole file, which is no TOML",
    '[diagnose]\nformat = "evil"\n': "the value of diagnose.format",
    "[diagnose]\nformat = [[1], [2]]\n": "the value of diagnose.format",
    "[diagnose.since]\na = 1\n": "the value of diagnose.since",
    "[changes]\nbetween = 5\n": "the value of changes.between",
    "[watch]\ninterval = nan\n": "the value of watch.interval",
    '[diagnose]\ntimezone = "No/Where"\n': "the value of diagnose.timezone",
    '[diagnose]\nmode = ["weather"]\n': "the value of diagnose.mode",
    "[diagnose.set]\nidle_disconnect.nothing = 1\n": "the value of diagnose.set",
    '"\\u001b]0;pwn\\u0007" = 1\n': "\\x1b]0;pwn\\x07",
    '"a\\nb" = 1\n': "a b",
    "".join(f"a{number} = 1\n" for number in range(100)): "a0, a1, a2, a3, a4, a5, a6, a7 and 92 more",
}


@pytest.mark.parametrize("text", IGNORED)
@pytest.mark.parametrize("words", [("config",), ("modes",), ("diagnose", "a.log", "--set", "x=1")])
def test_a_stranger_s_file_stops_no_command(call, file: Path, text: str, words: tuple[str, ...]) -> None:
    file.unlink()
    without = call(*words)
    file.write_bytes(text.encode("latin-1"))

    result = call(*words)

    first, *others = result.err.splitlines()
    assert first.startswith(f"Ignored in ./leadsman.toml: {IGNORED[text]}. ")
    assert (result.code, result.out, others) == (without.code, without.out, without.err.splitlines())


@pytest.mark.usefixtures("file")
def test_what_is_ignored_takes_no_setting_with_it(call, file: Path) -> None:
    file.write_text(f"mastre = 1\n{file.read_text()}\n[diagnose.set]\n{'a.' * 5000}b = 1\n[remedy]\nyes = true\n")

    result = call("config")

    assert result.code == 0
    assert row(result, "diagnose.timezone") == ("Europe/Berlin", "leadsman.toml")


def test_a_file_that_was_named_must_be_there(call) -> None:
    result = call("--config", "nowhere.toml", "config")

    assert result.code == 2
    assert "nowhere.toml" in result.err


def test_every_threshold_is_shown(call) -> None:
    result = call("config")

    assert all(f"\n{mode.name}.{name} " in result.out for mode in every_mode() for name in mode.parameters)


def test_no_secret_is_shown(call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADSMAN_DIAGNOSE_SPARK_CONF", "spark.hadoop.fs.s3a.secret.key=hunter2hunter2")

    result = call("config")

    assert "hunter2" not in result.out
    assert "spark.hadoop.fs.s3a.secret.key=" in result.out


@pytest.mark.parametrize("name", CONFIGURED_COMMANDS)
def test_a_setting_has_the_name_of_its_flag(name: str) -> None:
    command = group.get_command(click.Context(group), name)
    assert command is not None

    flags = {
        setting: [flag.removeprefix("--") for flag in option.opts] for setting, option in settable(command).items()
    }

    assert [setting for setting, names in flags.items() if setting not in names] == []
