"""Which files of a capture belong to which cluster."""

from typing import Any

import pyarrow as pa

from leadsman import vocabulary as names
from leadsman.pipeline.events import ARROW_SCHEMA
from leadsman.pipeline.scope.cluster_files import cluster_hints
from leadsman.pipeline.scope.clusters import cluster_scopes
from leadsman.telemetry.source import CLUSTER_ID

EAST, WEST = "E" * 22, "W" * 22


def files_by_cluster(hints):
    """The files of each scope, by cluster."""
    return {scope.cluster: set(scope.files) for scope in cluster_scopes("logs", hints)}


def test_a_capture_that_names_one_cluster_is_one_scope_of_that_cluster():
    (scope,) = cluster_scopes("logs", [("east/broker.log", None), ("east/broker.log", EAST), ("app.log", None)])

    assert (scope.name, scope.cluster, scope.note) == ("logs", EAST, "")
    assert set(scope.files) == {"east/broker.log", "app.log"}


def test_a_capture_that_names_no_cluster_is_one_scope():
    (scope,) = cluster_scopes("logs", [("app.log", None)])

    assert (scope.name, scope.cluster, scope.note) == ("logs", None, "")


def test_files_that_name_two_clusters_are_two_scopes():
    hints = [("a.log", WEST), ("b.log", EAST)]

    scopes = cluster_scopes("logs", hints)

    assert [(scope.name, set(scope.files)) for scope in scopes] == [
        (f"logs (cluster {EAST})", {"b.log"}),
        (f"logs (cluster {WEST})", {"a.log"}),
    ]


def test_a_file_that_names_no_cluster_belongs_to_the_cluster_of_its_folder():
    hints = [
        ("east/brokers/1/server.log", EAST),
        ("east/apps/orders/app.log", None),
        ("west/brokers/1/server.log", WEST),
        ("west/apps/orders/app.log", None),
    ]

    assert files_by_cluster(hints) == {
        EAST: {"east/brokers/1/server.log", "east/apps/orders/app.log"},
        WEST: {"west/brokers/1/server.log", "west/apps/orders/app.log"},
    }


def test_a_file_that_names_no_cluster_in_a_folder_of_two_belongs_to_no_single_cluster():
    hints = [("brokers/e1.log", EAST), ("brokers/w1.log", WEST), ("brokers/gc.log", None), ("apps/orders.log", None)]

    assert files_by_cluster(hints)[None] == {"brokers/gc.log", "apps/orders.log"}


def test_a_folder_of_one_cluster_keeps_its_files_beside_a_folder_of_two():
    hints = [("mixed/e.log", EAST), ("mixed/w.log", WEST), ("mixed/east/b.log", EAST), ("mixed/east/app.log", None)]

    assert files_by_cluster(hints) == {
        EAST: {"mixed/e.log", "mixed/east/b.log", "mixed/east/app.log"},
        WEST: {"mixed/w.log"},
    }


def test_a_file_that_names_two_clusters_belongs_to_no_single_cluster():
    hints = [("e.log", EAST), ("w.log", WEST), ("mirror.log", EAST), ("mirror.log", WEST)]

    assert files_by_cluster(hints) == {EAST: {"e.log"}, WEST: {"w.log"}, None: {"mirror.log"}}


def test_a_file_that_names_two_clusters_does_not_count_for_its_folder():
    hints = [("server.log", EAST), ("app.log", None), ("mirror.log", EAST), ("mirror.log", WEST)]

    assert files_by_cluster(hints) == {EAST: {"server.log", "app.log"}, None: {"mirror.log"}}


def test_a_capture_without_a_file_of_one_cluster_is_one_scope_with_a_note():
    (scope,) = cluster_scopes("logs", [("mirror.log", EAST), ("mirror.log", WEST)])

    assert (scope.name, scope.cluster) == ("logs", None)
    assert EAST in scope.note
    assert WEST in scope.note


def test_rotated_files_stay_together_with_the_one_that_names_a_cluster():
    hints = [("server.log.1", EAST), ("server.log", None), ("other.log", WEST)]

    assert files_by_cluster(hints) == {EAST: {"server.log.1", "server.log"}, WEST: {"other.log"}}


def test_rotated_files_that_name_two_clusters_stay_together():
    hints = [("app.log.1", EAST), ("app.log", WEST), ("server.log", WEST)]

    assert files_by_cluster(hints) == {WEST: {"server.log"}, None: {"app.log.1", "app.log"}}


def test_the_note_counts_files_of_none_and_files_of_several():
    hints = [("e.log", EAST), ("w.log", WEST), ("mirror.log", EAST), ("mirror.log", WEST), ("app.log", None)]

    *_, others = cluster_scopes("logs", hints)

    assert others.name == "logs (no single cluster)"
    assert others.note == (
        f"The capture names 2 clusters: {EAST}, {WEST}. This part belongs to no single cluster: "
        "1 file names none and lies in no folder of a single cluster, 1 file names several."
    )


def test_the_note_names_a_few_of_many_clusters():
    hints = [(f"{number}.log", f"cluster-{number:03}") for number in range(300)]

    *_, others = cluster_scopes("logs", [*hints, ("app.log", None)])

    assert "300 clusters: cluster-000, cluster-001, cluster-002, cluster-003, cluster-004 and 295 more." in others.note


def test_the_hints_of_a_slice_of_events_are_those_of_its_rows():
    row: dict[str, Any] = dict.fromkeys(ARROW_SCHEMA.names)
    read = [{**row, "capture": "logs", "file": file, "name": names.FILE_READ, "labels": []} for file in ("a", "b", "c")]
    named = [
        {**each, "name": names.SETTING, "labels": [("of", "broker"), ("key", CLUSTER_ID["key"]), ("value", cluster)]}
        for each, cluster in zip(read, (EAST, WEST, EAST), strict=True)
    ]
    rows = [read[0], named[0], read[1], named[1], named[2], read[2]]
    events = pa.Table.from_pylist(rows, ARROW_SCHEMA)
    clusters = {1: EAST, 3: WEST, 4: EAST}

    for first in range(len(rows)):
        for end in range(first, len(rows) + 1):
            expected = {(rows[each]["file"], clusters.get(each)) for each in range(first, end)}
            assert cluster_hints(events.slice(first, end - first)) == expected
