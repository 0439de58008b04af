"""What a consumer does about each error, what it may commit, and how often it may be started again."""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from functools import partial

import pytest
from confluent_kafka import KafkaError
from hypothesis import given
from hypothesis import strategies as st

from leadsman.clients import ClientsError, ConsumerRunner, Rules
from leadsman.clients.backoff import Backoff
from leadsman.clients.consumer.budget import Budget
from leadsman.clients.consumer.offsets import Offsets
from leadsman.clients.consumer.treatment import TREATMENTS, Action, treatment

ORDERS = ("orders", 0)


@pytest.mark.parametrize("name", TREATMENTS)
def test_every_line_of_the_table_is_an_error_that_the_client_knows(name: str) -> None:
    code = getattr(KafkaError, name)

    assert KafkaError(code).name() == name
    assert TREATMENTS[name].because.endswith(".")


@pytest.mark.parametrize(
    ("error", "action"),
    [
        (KafkaError(KafkaError._ALL_BROKERS_DOWN), Action.RETRY),
        (KafkaError(KafkaError.LEADER_NOT_AVAILABLE), Action.RETRY),
        (KafkaError(KafkaError._MAX_POLL_EXCEEDED), Action.REJOIN),
        (KafkaError(KafkaError._AUTHENTICATION), Action.RESTART),
        (KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), Action.STOP),
        (KafkaError(KafkaError._PARTITION_EOF), Action.SKIP),
        (KafkaError(KafkaError.THROTTLING_QUOTA_EXCEEDED, "unlisted", False, True), Action.RETRY),
        (KafkaError(KafkaError.THROTTLING_QUOTA_EXCEEDED, "unlisted", True), Action.RESTART),
        (KafkaError(KafkaError.THROTTLING_QUOTA_EXCEEDED, "unlisted"), Action.RESTART),
    ],
)
def test_an_error_is_treated_by_the_table_and_else_by_what_the_client_says_of_it(
    error: KafkaError, action: Action
) -> None:
    assert treatment(error).action is action


@given(order=st.permutations(range(12)), finished=st.integers(0, 12))
def test_no_commit_jumps_over_a_record_that_is_not_done(order: list[int], finished: int) -> None:
    offsets = Offsets()
    done = set(order[:finished])
    deque(map(partial(offsets.took, ORDERS), range(12)))

    deque(map(partial(offsets.done, ORDERS), done))

    first_open = min(set(range(12)) - done, default=12)
    assert offsets.to_commit().get(ORDERS, 0) == first_open
    assert offsets.under_way == 12 - finished


def test_a_record_of_a_partition_that_was_taken_away_does_not_count() -> None:
    offsets = Offsets()
    offsets.took(ORDERS, 7)
    offsets.forget([ORDERS])

    counted = offsets.done(ORDERS, 7)

    assert counted is False
    assert offsets.to_commit() == {}


def test_a_budget_is_spent_with_longer_pauses_and_comes_back_with_time() -> None:
    budget = Budget(2, timedelta(minutes=1), Backoff(first=timedelta(seconds=1), uniform=lambda _, most: most))

    pauses = [budget.spend(now) for now in (0.0, 1.0, 2.0, 60.5)]

    assert pauses == [1.0, 2.0, None, 2.0]


def test_dead_letters_need_a_topic_and_producers() -> None:
    with pytest.raises(ClientsError, match="both a topic"):
        ConsumerRunner({}, ["orders"], lambda _: None, dead_letters="orders.dead")


def test_topics_are_a_list() -> None:
    with pytest.raises(ClientsError, match=r"must be a list: \['orders'\]"):
        ConsumerRunner({}, "orders", lambda _: None)


def test_a_configuration_that_can_never_work_fails_at_once() -> None:
    runner = ConsumerRunner({"bootstrap.servers": "localhost:1"}, ["orders"], lambda _: None)

    with pytest.raises(Exception, match=r"group\.id"):
        runner.run()

    assert runner.health.alive is False


@pytest.mark.parametrize("wrong", [{"attempts": 0}, {"most_under_way": 0}])
def test_rules_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Rules(**wrong)  # type: ignore[arg-type]  # numbers for numbers
