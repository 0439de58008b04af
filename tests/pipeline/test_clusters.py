"""Which files of a capture are which cluster's."""

from leadsman.pipeline.clusters import parts_of

EAST, WEST = "E" * 22, "W" * 22


def parts(told):
    """The files of each part, by cluster."""
    return {part.cluster: set(part.files) for part in parts_of("logs", told)}


def test_a_capture_that_tells_of_one_cluster_is_whole_and_of_that_one():
    (part,) = parts_of("logs", [("east/broker.log", None), ("east/broker.log", EAST), ("app.log", None)])

    assert (part.name, part.cluster, part.note) == ("logs", EAST, "")
    assert set(part.files) == {"east/broker.log", "app.log"}


def test_a_capture_that_tells_of_no_cluster_is_whole():
    (part,) = parts_of("logs", [("app.log", None)])

    assert (part.name, part.cluster, part.note) == ("logs", None, "")


def test_files_that_tell_of_two_clusters_are_two_parts():
    told = [("a.log", WEST), ("b.log", EAST)]

    found = parts_of("logs", told)

    assert [(part.name, set(part.files)) for part in found] == [
        (f"logs (cluster {EAST})", {"b.log"}),
        (f"logs (cluster {WEST})", {"a.log"}),
    ]


def test_what_tells_of_none_goes_with_the_folder_that_it_lies_in():
    told = [
        ("east/brokers/1/server.log", EAST),
        ("east/apps/orders/app.log", None),
        ("west/brokers/1/server.log", WEST),
        ("west/apps/orders/app.log", None),
    ]

    assert parts(told) == {
        EAST: {"east/brokers/1/server.log", "east/apps/orders/app.log"},
        WEST: {"west/brokers/1/server.log", "west/apps/orders/app.log"},
    }


def test_what_tells_of_none_in_a_folder_of_two_clusters_is_of_no_single_one():
    told = [("brokers/e1.log", EAST), ("brokers/w1.log", WEST), ("brokers/gc.log", None), ("apps/orders.log", None)]

    assert parts(told)[None] == {"brokers/gc.log", "apps/orders.log"}


def test_a_folder_of_one_cluster_keeps_its_files_beside_a_folder_of_two():
    told = [("mixed/e.log", EAST), ("mixed/w.log", WEST), ("mixed/east/b.log", EAST), ("mixed/east/app.log", None)]

    assert parts(told) == {EAST: {"mixed/e.log", "mixed/east/b.log", "mixed/east/app.log"}, WEST: {"mixed/w.log"}}


def test_a_file_that_tells_of_two_clusters_is_of_no_single_one():
    told = [("e.log", EAST), ("w.log", WEST), ("mirror.log", EAST), ("mirror.log", WEST)]

    assert parts(told) == {EAST: {"e.log"}, WEST: {"w.log"}, None: {"mirror.log"}}


def test_a_file_that_tells_of_two_clusters_takes_no_folder_from_the_only_one_with_files_of_its_own():
    told = [("server.log", EAST), ("app.log", None), ("mirror.log", EAST), ("mirror.log", WEST)]

    assert parts(told) == {EAST: {"server.log", "app.log"}, None: {"mirror.log"}}


def test_where_nothing_is_of_one_cluster_the_capture_stays_whole_and_says_so():
    (part,) = parts_of("logs", [("mirror.log", EAST), ("mirror.log", WEST)])

    assert (part.name, part.cluster) == ("logs", None)
    assert EAST in part.note
    assert WEST in part.note


def test_rotated_files_stay_together_with_the_one_that_tells():
    told = [("server.log.1", EAST), ("server.log", None), ("other.log", WEST)]

    assert parts(told) == {EAST: {"server.log.1", "server.log"}, WEST: {"other.log"}}


def test_rotated_files_that_tell_of_two_clusters_stay_together():
    told = [("app.log.1", EAST), ("app.log", WEST), ("server.log", WEST)]

    assert parts(told) == {WEST: {"server.log"}, None: {"app.log.1", "app.log"}}


def test_the_note_counts_files_of_none_and_files_of_several():
    told = [("e.log", EAST), ("w.log", WEST), ("mirror.log", EAST), ("mirror.log", WEST), ("app.log", None)]

    *_, rest = parts_of("logs", told)

    assert rest.name == "logs (no single cluster)"
    assert rest.note == (
        f"The capture tells of 2 clusters: {EAST}, {WEST}. Here is what belongs to no single one: "
        "1 file tells of none and lies in no folder of one, 1 file tells of several."
    )


def test_the_note_names_a_few_of_many_clusters():
    told = [(f"{number}.log", f"cluster-{number:03}") for number in range(300)]

    *_, rest = parts_of("logs", [*told, ("app.log", None)])

    assert "300 clusters: cluster-000, cluster-001, cluster-002, cluster-003, cluster-004 and 295 more." in rest.note
