"""Every rule on its own samples: it finds each broken one, and no rule finds anything in a healthy one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leadsman.catalogue import every_mode, every_rule
from leadsman.gate.check import Report, check_file
from leadsman.gate.topics import check_topics

if TYPE_CHECKING:
    from pathlib import Path

RULES = every_rule()
FOLDERS = {rule.id: mode.folder / "samples" / rule.id for mode in every_mode() for rule in mode.rules}
SAMPLES = [
    pytest.param(rule, file, id=f"{rule}-{file.name}")
    for rule, folder in FOLDERS.items()
    for file in sorted(folder.glob("broken*"))
]


def healthy_of(broken: Path) -> Path:
    return broken.with_name(broken.name.replace("broken", "healthy", 1))


def checked(sample: Path) -> Report:
    """What the check of programs says, or that of topics for a sample of topics."""
    is_of_topics = sample.stem.endswith("-topics")
    return check_topics([sample], RULES, lag_hours=24) if is_of_topics else check_file(str(sample), RULES)


@pytest.mark.parametrize("rule", FOLDERS)
def test_every_rule_has_a_sample(rule: str) -> None:
    assert list(FOLDERS[rule].glob("broken*"))


@pytest.mark.parametrize(("rule", "sample"), SAMPLES)
def test_a_broken_sample_is_found_by_its_rule_and_by_no_other(rule: str, sample: Path) -> None:
    report = checked(sample)

    assert report.unreadable == []
    assert {each.rule for each in report.violations} == {rule}


@pytest.mark.parametrize(("rule", "sample"), SAMPLES)
def test_no_rule_objects_to_a_healthy_sample(rule: str, sample: Path) -> None:
    report = checked(healthy_of(sample))

    assert report.unreadable == []
    assert report.violations == []
