"""The outbox: each change is one message, many at once are one, and nothing is lost or sent under another id."""

from __future__ import annotations

import json
import random
import time
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from leadsman.model import Life
from leadsman.watch.finding_changes import FindingHistory, LifeTimes, reported
from leadsman.watch.sending.messages import message_from_json, message_json, message_of_change
from leadsman.watch.sending.outbox import GROUPED_FROM, MESSAGES_AT_MOST, SENT, Outbox
from leadsman.watch.state.findings_file import FindingsFile

from .findings import at, diagnosed, harmed

if TYPE_CHECKING:
    from pathlib import Path

    from leadsman.model import Diagnosis
    from leadsman.notify.kind import Notification

TO = "slack at http://127.0.0.1"


class Watched:
    """A file of findings whose changes go to one destination."""

    def __init__(self, path: Path, **kind: bool) -> None:
        self.file = FindingsFile(path)
        self.history = FindingHistory(LifeTimes(updated_every=timedelta()), self.file.known())
        self.outbox = Outbox(self.file, TO, **kind)
        self.now = time.time()

    def see(self, *diagnoses: Diagnosis, now: float) -> None:
        changes = self.history.update(diagnoses, {}, at(now))
        known = self.history.known
        messages = [(each, message_json(message_of_change(each, known[each.id]))) for each in changes]
        news = [each.key for each in reported(changes)]
        self.file.save(messages, known.values(), news=news, destinations=[TO])

    def sent(self) -> list[Notification]:
        """Send all that waits."""
        notifications = []
        while (outgoing := self.outbox.next(self.now)) is not None:
            notifications.append(outgoing.notification)
            self.outbox.finish(outgoing, SENT, self.now)
        return notifications


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "findings.sqlite"


def captures(count: int, *, until: float, begin: int = 0, harm: bool = True) -> list[Diagnosis]:
    found = [harmed(0)] if harm else []
    return [diagnosed(*found, until=until, path=f"logs-{begin + each}") for each in range(count)]


def test_opened_and_resolved_are_one_message_each_and_an_update_is_none(path: Path):
    watched = Watched(path)
    watched.see(diagnosed(harmed(0), until=1), now=1)
    watched.see(diagnosed(harmed(0, 2, title="other words"), until=3), now=3)
    opened = watched.sent()
    watched.see(diagnosed(harmed(0, 2, title="other words"), until=60), now=60)

    resolved = watched.sent()

    assert [each.life for each in (*opened, *resolved)] == [Life.OPENED, Life.RESOLVED]
    assert opened[0].id == resolved[0].id
    assert opened[0].key != resolved[0].key
    assert resolved[0].message.title == "Resolved: other words"


def test_a_flood_is_one_message_and_its_end_is_another(path: Path):
    watched = Watched(path)
    watched.see(*captures(1000, until=1), now=1)
    flood = watched.sent()
    watched.see(*captures(999, until=60), now=60)
    while_one_is_open = watched.sent()
    watched.see(*captures(1, until=60, begin=999), now=61)

    end = watched.sent()

    assert [each.life for each in (*flood, *while_one_is_open, *end)] == [Life.OPENED, Life.RESOLVED]
    assert flood[0].message.title == "1,000 findings at once: idle_disconnect (1000)"
    assert flood[0].id == end[0].id
    assert end[0].message.title == "Resolved: the last of 1,000 findings that were reported at once"


def test_a_finding_with_a_thousand_subjects_is_one_message(path: Path):
    watched = Watched(path)
    watched.see(diagnosed(harmed(0, subjects=1000), until=1), now=1)

    assert len(watched.sent()) == 1


def test_a_receiver_that_groups_itself_gets_each_finding(path: Path):
    watched = Watched(path, groups=True, is_keyed=True)
    watched.see(*captures(50, until=1), now=1)

    assert len({each.id for each in watched.sent()}) == 50


def test_a_finding_of_a_flood_that_comes_back_alone_is_opened_and_resolved_alone(path: Path):
    watched = Watched(path)
    watched.see(*captures(10, until=1), now=1)
    watched.sent()
    watched.see(*captures(10, until=60), now=60)
    watched.sent()
    watched.see(diagnosed(harmed(0, 100), until=100, path="logs-3"), now=100)
    (again,) = watched.sent()
    watched.see(diagnosed(harmed(0, 100), until=1000, path="logs-3"), now=1000)

    (end,) = watched.sent()

    assert (again.life, end.life) == (Life.REOPENED, Life.RESOLVED)
    assert again.id == end.id
    assert not again.id.startswith("group")


def test_findings_that_come_one_by_one_without_end_become_one_message(path: Path):
    watched = Watched(path)
    sent = []
    for number in range(100):
        watched.see(*captures(1, until=1, begin=number), now=1)
        sent += watched.sent()
    watched.now += 700
    sent += watched.sent()

    assert len(sent) == MESSAGES_AT_MOST + 1
    assert sent[-1].message.title.startswith("80 findings at once")


def test_many_that_end_at_once_are_one_message_for_people_and_each_one_for_programs(tmp_path: Path):
    sent = {}
    for is_keyed in (False, True):
        watched = Watched(tmp_path / f"{is_keyed}.sqlite", is_keyed=is_keyed)
        for number in range(GROUPED_FROM + 1):
            watched.see(*captures(1, until=1, begin=number), now=1)
            watched.sent()
        watched.see(*captures(GROUPED_FROM + 1, until=60), now=60)
        sent[is_keyed] = watched.sent()

    assert len(sent[False]) == 1
    assert len({each.id for each in sent[True]}) == GROUPED_FROM + 1


def test_a_destination_that_never_got_a_finding_is_not_sent_its_end(path: Path):
    watched = Watched(path)
    watched.see(diagnosed(harmed(0), until=1), now=1)
    later = replace(watched.outbox, destination="webhook")
    changes = watched.history.update([diagnosed(harmed(0), until=60)], {}, at(60))
    known = watched.history.known
    messages = [(each, message_json(message_of_change(each, known[each.id]))) for each in changes]
    watched.file.save(messages, known.values(), news=[each.key for each in changes], destinations=["webhook"])

    assert later.next(watched.now) is None
    assert later.waiting() == 0


def test_a_message_is_read_as_it_was_written(path: Path):
    watched = Watched(path)
    watched.see(diagnosed(harmed(0), until=1), now=1)
    (sent,) = watched.sent()

    assert message_from_json(message_json(sent.message)) == sent.message


def test_a_message_that_an_earlier_watch_left_in_the_outbox_is_read(path: Path):
    watched = Watched(path)
    watched.see(diagnosed(harmed(0), until=1), now=1)
    (sent,) = watched.sent()
    fields = asdict(replace(sent.message, page_url="https://x.com/r"))
    fields["link"] = fields.pop("page_url")

    assert message_from_json(json.dumps(fields, default=datetime.isoformat)).page_url == "https://x.com/r"


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(4, 15))])
def test_whatever_happens_each_message_keeps_its_id_and_every_end_follows_its_beginning(tmp_path: Path, seed: int):
    """The property, with a process that dies before or after a message was accepted: as one sees it from outside."""
    chance = random.Random(seed)
    path = tmp_path / "findings.sqlite"
    accepted: list[Notification] = []
    watched = Watched(path, is_keyed=True)
    for now in range(0, 2000, 40):
        harm = [each for each in range(40) if chance.random() < 0.1]
        watched.see(*(diagnosed(harmed(now), until=now, path=f"logs-{each}") for each in harm), now=now)
        quiet = [name for name in range(40) if name not in harm and f"logs-{name}" in seen_paths(watched)]
        watched.see(*(diagnosed(until=now, path=f"logs-{each}") for each in quiet), now=now)
        for _ in range(chance.randrange(12)):
            watched.now += 60
            outgoing = watched.outbox.next(watched.now)
            if outgoing is None:
                break
            accepted.append(outgoing.notification)
            if chance.random() < 0.3:
                watched.file.close()  # it dies before it can write that the message was accepted
                watched = Watched(path, is_keyed=True)
            else:
                watched.outbox.finish(outgoing, SENT, watched.now)
    end = 10_000.0
    watched.see(*(diagnosed(until=end, path=f"logs-{each}") for each in range(40)), now=end)
    for _ in range(200):
        watched.now += 600
        accepted += watched.sent()

    by_key = {each.key: each for each in accepted}
    assert all(by_key[each.key] == each for each in accepted), "two messages had one key"
    last = {each.id: each.life for each in by_key.values()}
    opened = {each.id for each in by_key.values() if each.life in {Life.OPENED, Life.REOPENED}}
    assert {name for name, life in last.items() if life is not Life.RESOLVED} == set(), "an end was lost"
    assert set(last) == opened, "an end came without its beginning"
    assert watched.outbox.waiting() == 0


def seen_paths(watched: Watched) -> set[str]:
    return {each.change.path for each in watched.history.known.values()}
