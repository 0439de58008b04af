"""Services that process a topic: who coordinates them, and what harm they report."""

from functools import partial

import pytest

from leadsman.errors import LabError
from leadsman.lab.brokers.consumer_groups import coordinator_partition
from leadsman.lab.processes.program import Program
from leadsman.lab.workload.services import RunningService, class_path, service_harm, versions
from leadsman.model import Harm


# The hashes are what Java's String.hashCode documents: s[0]*31^(n-1) + ...; the second is its smallest number.
@pytest.mark.parametrize(("group", "partition"), [("abc", 96354 % 50), ("polygenelubricants", 0), ("", 0)])
def test_a_group_falls_on_the_partition_that_java_finds_for_it(group, partition):
    found = coordinator_partition(group, 50)

    assert found == partition


def test_records_that_a_service_has_not_processed_are_stalled(tmp_path):
    program = Program.start("source", ["true"], folder=tmp_path, errors=tmp_path / "errors")
    service = partial(RunningService, program=program, log=tmp_path / "errors")
    source = service(name="source", last_report={"acknowledged": 10})
    dead = service(name="billing", last_report={"processed": 7, "state": "DEAD"})
    alive = service(name="audit", last_report={"processed": 10, "twice": 2, "late": 3})

    found = service_harm(source, [dead, alive])

    assert found == {Harm.DUPLICATED: 2, Harm.DELAYED: 3, Harm.STALLED: 3, Harm.DIED: 1}


def test_a_version_without_streams_is_named_with_those_that_there_are():
    with pytest.raises(LabError, match=rf"no Streams 0\.1.*{versions()[0]}"):
        class_path("0.1")
