"""--help teaches by example, is quick, and needs nothing but the light install."""

import subprocess
import sys

import click
import pytest

from leadsman.cli.group import COMMANDS, LazyGroup, group

HEAVY = ("pyspark", "numpy", "pyarrow", "confluent_kafka", "kafka", "aiokafka", "matplotlib")


def test_the_overview_names_every_command_in_the_order_of_use(call) -> None:
    result = call("--help")

    places = [result.out.index(f"\n  {name} ") for name in COMMANDS]
    assert result.code == 0
    assert places == sorted(places)


@pytest.mark.parametrize("words", [[], *([name] for name in COMMANDS)], ids=lambda words: " ".join(words) or "leadsman")
def test_help_teaches_by_example(call, words: list[str]) -> None:
    result = call(*words, "--help")

    assert result.code == 0
    assert "Examples:" in result.out
    assert f"  leadsman {words[0]}" in result.out if words else "  leadsman diagnose ./logs" in result.out


def test_the_exit_codes_stand_in_the_help_of_diagnose(call) -> None:
    result = call("diagnose", "--help")

    assert "1  a failure mode is PRESENT" in result.out
    assert "3  nothing PRESENT, but something UNKNOWN" in result.out


def test_no_line_of_any_help_is_wider_than_the_terminal(call) -> None:
    lines = [line for name in COMMANDS for line in call(name, "--help").out.splitlines()]

    assert [line for line in lines if len(line) > 119] == []


def test_every_command_is_described_in_one_line() -> None:
    context = group.make_context("leadsman", [], resilient_parsing=True)
    assert isinstance(group, LazyGroup)

    described = {name: group.get_command(context, name).get_short_help_str(200) for name in COMMANDS}  # type: ignore[union-attr]  # every name is a command

    assert described == COMMANDS


GROUPS = [(), *((name,) for name in ("collect", "remedy", "check", "daemon"))]


@pytest.mark.parametrize("words", GROUPS)
def test_every_command_of_a_group_has_one_line_that_is_not_cut(call, monkeypatch, words: tuple[str, ...]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    context = group.make_context("leadsman", [], resilient_parsing=True)
    parent = group.get_command(context, words[0]) if words else group
    assert isinstance(parent, click.Group)

    section = call(*words, "--help").out.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()

    found = {name: parent.get_command(context, name) for name in parent.list_commands(context)}
    assert [line.split()[0] for line in section] == [name for name, each in found.items() if each and not each.hidden]
    assert [line for line in section if not line.endswith(".") or line.endswith("...")] == []


def test_the_version_is_the_packages(call) -> None:
    import leadsman

    assert call("--version").out.strip().endswith(leadsman.__version__)


def test_a_call_without_words_shows_the_help_and_could_not_run(call) -> None:
    result = call()

    assert result.code == 2
    assert "Commands:" in result.out + result.err


def test_the_command_line_loads_neither_spark_nor_numpy_nor_a_kafka_client() -> None:
    program = (
        "import sys; from leadsman.cli.group import COMMANDS, group;"
        "context = group.make_context('leadsman', [], resilient_parsing=True);"
        "[group.get_command(context, name) for name in COMMANDS];"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )

    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "[]"
