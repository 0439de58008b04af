"""The remedy on a real kernel: a namespace whose entry for a reused address is really wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leadsman.errors import LabError
from leadsman.lab.network.fabric import Fabric
from leadsman.modes.stale_neighbour.remedy import GC_THRESHOLDS, plan
from leadsman.remedies.remedy import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.lab.network.fabric import NetworkInstance

pytestmark = pytest.mark.lab

SERVER, CLIENT = "10.20.4.11", "10.20.4.57"
DEAD, NEW = "02:5a:10:00:00:0a", "02:5a:10:00:00:0b"
SOURCES = Path(__file__).parents[2] / "src"
MEET = f"import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'', ('{CLIENT}', 9))"


@pytest.fixture
def fabric() -> Iterator[Fabric]:
    with Fabric() as running:
        yield running


@pytest.fixture
def server(fabric: Fabric) -> NetworkInstance:
    """A host that met an instance which died, and whose address another one has now."""
    instance = fabric.launch("server", SERVER, "02:5a:10:00:00:01")
    fabric.launch("client", CLIENT, DEAD)
    fabric.run(instance.namespace.netns_entry, [sys.executable, "-c", MEET])
    fabric.terminate("client")
    fabric.launch("client", CLIENT, NEW)
    assert DEAD in neighbours(fabric, instance)
    return instance


def neighbours(fabric: Fabric, instance: NetworkInstance) -> str:
    return fabric.run(instance.namespace.netns_entry, ["ip", "neigh", "show", CLIENT])


def remedy(fabric: Fabric, instance: NetworkInstance, *words: str) -> str:
    """Run the remedy on that instance, and return its output."""
    call = [sys.executable, "-m", "leadsman", "remedy", "stale_neighbour", CLIENT, *words]
    return fabric.run(instance.namespace.netns_entry, ["env", f"PYTHONPATH={SOURCES}", *call])


def test_without_do_nothing_is_changed(fabric: Fabric, server: NetworkInstance) -> None:
    output = remedy(fabric, server, "--mac", NEW)

    assert f"ip neigh del {CLIENT} dev e0" in output
    assert "gc_thresh1=0 alone does not end a running incident" in output
    assert DEAD in neighbours(fabric, server)


def test_the_wrong_entry_goes_and_the_right_one_is_read_back(fabric: Fabric, server: NetworkInstance) -> None:
    output = remedy(fabric, server, "--mac", NEW, "--do", "--yes")

    assert f"Before: {CLIENT} is {DEAD}" in output
    assert f"After:  {CLIENT} is {NEW}" in output
    assert NEW in neighbours(fabric, server)


def test_without_the_true_mac_any_mac_but_the_old_one_counts_as_healed(fabric: Fabric, server: NetworkInstance) -> None:
    output = remedy(fabric, server, "--do", "--yes")

    assert "Cured." in output


def test_an_entry_that_is_right_is_left_alone(fabric: Fabric, server: NetworkInstance) -> None:
    with pytest.raises(LabError, match="has the right MAC"):
        remedy(fabric, server, "--mac", DEAD, "--do", "--yes")

    assert DEAD in neighbours(fabric, server)


@pytest.mark.parametrize("address", ["-x", "broker-1", "10.0.0.0/8", "", "all"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with (
        pytest.raises(Refused, match="is not an IP address"),
        plan(address=(address,), mac="", file=Path("unused"), heal_only=True),
    ):
        pass


def test_an_address_that_is_no_neighbour_is_refused() -> None:
    with (
        pytest.raises(Refused, match="no entry for"),
        plan(address=("203.0.113.77",), mac="", file=Path("unused"), heal_only=True),
    ):
        pass


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A folder that is laid out as the kernel's: real files, so that what is read back is what was written."""
    for name in GC_THRESHOLDS:
        file = tmp_path / "proc" / name.replace(".", "/")
        file.parent.mkdir(parents=True)
        file.write_text("128\n")
    return tmp_path / "proc"


CARRIED_OUT = """
import json, sys
from pathlib import Path
from leadsman.modes.stale_neighbour.remedy import plan
from leadsman.remedies.carry_out import carry_out
file, proc, threshold = map(Path, sys.argv[1:])
with plan(address=("10.20.4.57",), mac="", file=file, heal_only=False, kernel=proc) as made:
    outcome = carry_out(made, lambda _: None)
    done = [outcome.after.is_cured, threshold.read_text(), file.read_text()]
    made.steps[-1].undo()
print(json.dumps([*done, threshold.read_text(), file.exists(), made.steps[-1].undo_command]))
"""


def test_the_setting_is_kept_in_a_file_set_and_can_be_taken_back(
    fabric: Fabric, server: NetworkInstance, proc: Path, tmp_path: Path
) -> None:
    file, threshold = tmp_path / "60.conf", proc / GC_THRESHOLDS[0].replace(".", "/")
    call = [sys.executable, "-c", CARRIED_OUT, str(file), str(proc), str(threshold)]

    output = json.loads(fabric.run(server.namespace.netns_entry, ["env", f"PYTHONPATH={SOURCES}", *call]))
    cured, set_to, kept, after, still_there, undo = output

    assert (cured, set_to, f"{GC_THRESHOLDS[0]} = 0" in kept) == (True, "0", True)
    assert (after, still_there) == ("128", False)
    assert undo == f"rm {file} && sysctl -w {GC_THRESHOLDS[0]}=128 {GC_THRESHOLDS[1]}=128"
