"""Events are declared as data, and everything that emits or reads them is held to the declarations."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from leadsman import vocabulary
from leadsman.catalogue import every_mode
from leadsman.event_types.definition import EventType
from leadsman.pipeline.request import find_input, read_small_input
from leadsman.telemetry.source import Signature, Source, all_signatures, event_types

CODE = Path(vocabulary.__file__).parent
LABEL_READ = re.compile(r"""labels(?:\[|\.get\()['"]([a-z_]+)['"]""")
MAX_BYTES = 2_000_000
RECORDINGS = [
    pytest.param(
        folder,
        id=f"{mode.name}-{folder.name}",
        marks=[pytest.mark.long] if sum(path.stat().st_size for path in folder.rglob("*.*")) > MAX_BYTES else [],
    )
    for mode in every_mode()
    for folder in mode.recordings()
]
SIGNATURES = [
    pytest.param(signature, id=f"{source.name}-{signature.event}") for source, signature, _ in all_signatures()
]
CONSTANTS = {
    value
    for name, value in vars(vocabulary).items()
    if name.isupper() and isinstance(value, str) and name not in {"CONSUMER", "PRODUCER_IDS"}
}


def undeclared(name: str, labels: set[str], *, has_value: bool) -> list[str]:
    """What an event carries beyond its declaration."""
    declared = event_types()[name]
    return [
        *sorted(label for label in labels if not declared.allows(label)),
        *(["a value"] if has_value and not declared.value else []),
    ]


def test_every_name_of_the_vocabulary_is_declared() -> None:
    assert event_types().keys() == CONSTANTS


@pytest.mark.parametrize("signature", SIGNATURES)
def test_a_signature_sets_no_label_that_is_not_declared(signature: Signature) -> None:
    labels = {*re.compile(signature.pattern).groupindex, *signature.labels}
    labels |= {label for texts in signature.within.values() for label in texts}

    assert undeclared(signature.event, labels, has_value="value" in labels) == []


@pytest.mark.parametrize("folder", RECORDINGS)
def test_a_recording_holds_no_event_that_is_not_declared(folder: Path) -> None:
    events = read_small_input(find_input([str(folder)])).events
    assert events is not None

    columns = [events.column(name).to_pylist() for name in ("name", "labels", "value")]

    found = {
        (str(name), label)
        for name, labels, value in zip(*columns, strict=True)
        for label in undeclared(str(name), {key for key, _ in labels or ()}, has_value=value is not None)
    }
    assert found == set()


def test_no_code_reads_a_label_that_no_event_declares() -> None:
    declared = {label for event in event_types().values() for label in event.labels} | {"client_id", "value"}

    read = {
        (label, path.name)
        for path in CODE.rglob("*.py")
        for label in LABEL_READ.findall(path.read_text(encoding="utf-8"))
        if label not in declared
    }

    assert read == set()


def test_a_source_may_declare_events_of_its_own() -> None:
    own = EventType("proxy.reloaded", "A proxy loaded its configuration anew.", labels={"file": "the file"})
    source = Source("proxy", "a proxy", "state", signatures=(Signature("proxy.reloaded", "reload"),), events=(own,))

    assert event_types((source,))["proxy.reloaded"] is own


def test_a_name_is_declared_once() -> None:
    own = EventType(vocabulary.ERROR, "Another meaning.")
    source = Source("proxy", "a proxy", "state", events=(own,))

    with pytest.raises(ValueError, match="error is declared twice"):
        event_types((source,))
