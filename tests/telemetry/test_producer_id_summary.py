"""A leak, a fleet and a burst of producer ids have different summaries."""

import numpy as np

from leadsman.telemetry.producer_state.summary import summarize_producer_ids

NOW = 1_700_000_000_000
HOUR = 3_600_000


def test_ids_that_sent_one_batch_each_over_the_whole_past():
    stamps = np.arange(NOW - HOUR, NOW, HOUR // 100)

    value, labels = summarize_producer_ids(np.zeros(100, int), stamps, at=NOW)

    assert value == 100
    assert labels["single"] == labels["few"] == "100"
    assert labels["arrivals"] == "10,10,10,10,10,10,10,10,10,10"
    assert labels["oldest"] == "2023-11-14T21:13:20.000+00:00"


def test_a_fleet_sent_recently_and_often():
    sequences = np.full(50, 4711)

    _, labels = summarize_producer_ids(sequences, np.r_[NOW - HOUR, np.full(49, NOW - 5)], at=NOW)

    assert labels["single"] == labels["few"] == "0"
    assert labels["arrivals"] == "1,0,0,0,0,0,0,0,0,49"


def test_a_burst_is_over_when_it_is_counted():
    _, labels = summarize_producer_ids(np.zeros(30, int), np.full(30, NOW - HOUR), at=NOW)

    assert labels["arrivals"] == "30,0,0,0,0,0,0,0,0,0"


def test_a_first_batch_of_many_records_is_one_batch_all_the_same():
    _, labels = summarize_producer_ids(np.array([499, 999]), np.array([NOW, NOW]), offset_delta=np.array([499, 499]))

    assert labels["single"] == "1"
    assert labels["few"] == "0"


def test_ids_of_transactional_producers_are_counted():
    _, labels = summarize_producer_ids(np.zeros(3, int), np.full(3, NOW), coordinator_epoch=np.array([-1, 0, 7]))

    assert labels["transactional"] == "2"


def test_an_id_without_a_batch_has_no_time():
    value, labels = summarize_producer_ids(np.array([-1]), np.array([-1]), at=NOW)

    assert value == 1
    assert labels == {"single": "0", "few": "0"}
