"""What the documents say of the command line is what it does."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import click
import pytest

from leadsman.catalogue import every_mode
from leadsman.cli.commands.config import CONFIGURED_COMMANDS
from leadsman.cli.group import COMMANDS, group

ROOT = Path(__file__).parents[2]
DOCUMENTS = [pytest.param(path, id=path.name) for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])]
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
CALL = re.compile(r"(?:^|`)(?:\.venv/bin/)?leadsman ([a-z][a-z-]*)([^`\n]*)", re.MULTILINE)
FLAG = re.compile(r"(?<= )--[a-z][a-z-]*")


@pytest.fixture
def made() -> ModuleType:
    """The script that makes the documents."""
    spec = importlib.util.spec_from_file_location("make_documents", ROOT / "docs" / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_configuration_reference_is_up_to_date(made: ModuleType) -> None:
    written = (ROOT / "docs" / "configuration.md").read_text()

    assert written == made.configuration(), "Generate it again: python docs/make.py configuration"


@pytest.mark.parametrize("name", ["map", "modes", "verdicts", "verdicts in the glossary", "hops", "alerts", "rules"])
def test_what_is_generated_into_a_document_is_up_to_date(made: ModuleType, name: str) -> None:
    file, make = made.PARTS[name]
    text = (ROOT / file).read_text()

    assert text == made.between(name, make(), text), f"Generate it again: python docs/make.py {name}"


def test_the_vocabulary_is_up_to_date(made: ModuleType) -> None:
    written = (ROOT / "docs" / "vocabulary.md").read_text()

    assert written == made.vocabulary(), "Generate it again: python docs/make.py vocabulary"


def test_every_threshold_has_its_reason_in_the_reference(made: ModuleType) -> None:
    text = made.configuration()

    empty = [name for mode in every_mode() for name in mode.parameters if re.search(rf"{name}` \| [\d.]+ \|  \|", text)]
    assert empty == []


def flags_of(command: click.Command) -> set[str]:
    """The flags of a command, and of the commands below it."""
    context = click.Context(command)
    names = command.list_commands(context) if isinstance(command, click.Group) else []
    below = [each for name in names if (each := command.get_command(context, name))]  # type: ignore[attr-defined]
    own = {flag for each in command.params for flag in (*each.opts, *each.secondary_opts)}
    return {"--help", *own, *(flag for each in below for flag in flags_of(each))}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_leads_to_a_file(document: Path) -> None:
    targets = LINK.findall(document.read_text())

    assert [target for target in targets if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_call_in_the_documents_is_one_that_exists(document: Path) -> None:
    context = group.make_context("leadsman", [], resilient_parsing=True)
    calls = [(name, set(FLAG.findall(rest))) for name, rest in CALL.findall(document.read_text())]
    known = {name: flags_of(command) for name in COMMANDS if (command := group.get_command(context, name))}

    assert [(name, flags) for name, flags in calls if name not in known or not flags <= known[name]] == []


def test_every_configurable_command_is_in_the_reference(made: ModuleType) -> None:
    assert [name for name in CONFIGURED_COMMANDS if f"## `leadsman {name}`" not in made.configuration()] == []
