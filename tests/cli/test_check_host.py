"""`leadsman check host`: what it advises, what it expects, and that it changes nothing unless told to."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from leadsman.errors import UsageError
from leadsman.gate.host import KERNEL, Advice, Fleet, apply, settings_here, settings_in
from leadsman.lab import kernel
from leadsman.modes.stale_neighbour.host import check, stale_minutes

FLEET = Fleet(addresses=60, reuses_a_day=10, rest_seconds=600, noticed_seconds=3600, confirms=True)
THRESHOLDS = ("net.ipv4.neigh.default.gc_thresh1", "net.ipv6.neigh.default.gc_thresh1")
AS_DELIVERED = "".join(
    f"net.{family}.neigh.default.{name} = {value}\n"
    for family in ("ipv4", "ipv6")
    for name, value in {"gc_thresh1": 128, "gc_thresh2": 512, "gc_thresh3": 1024, "gc_stale_time": 60}.items()
)


@pytest.fixture
def delivered(tmp_path: Path) -> Path:
    file = tmp_path / "sysctl.txt"
    file.write_text(AS_DELIVERED)
    return file


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A folder that is laid out as the kernel's: real files, so that what is read back is what was written."""
    for name in THRESHOLDS:
        place = tmp_path / "proc" / name.replace(".", "/")
        place.parent.mkdir(parents=True)
        place.write_text("128\n")
    return tmp_path / "proc"


def advice(*names: str) -> list[Advice]:
    return [Advice(name, "128", "0", "Why.") for name in names]


def test_a_kernel_as_delivered_should_forget_neighbours_of_both_families(delivered: Path) -> None:
    forecast = check(settings_in(delivered), FLEET)

    assert [(each.setting, each.wanted) for each in forecast.advice] == [(name, "0") for name in THRESHOLDS]
    assert forecast.advised < forecast.now / 2


def test_a_kernel_that_follows_the_advice_is_left_alone(delivered: Path) -> None:
    delivered.write_text(AS_DELIVERED.replace("gc_thresh1 = 128", "gc_thresh1 = 0"))

    forecast = check(settings_in(delivered), FLEET)

    assert forecast.advice == ()
    assert forecast.now == forecast.advised


def test_a_table_that_the_fleet_does_not_fit_into_is_made_larger(delivered: Path) -> None:
    forecast = check(settings_in(delivered), replace(FLEET, addresses=3000))

    larger = {each.setting.rpartition(".")[2]: each.wanted for each in forecast.advice if "ipv4" in each.setting}
    assert larger == {"gc_thresh1": "0", "gc_thresh2": "6000", "gc_thresh3": "12000"}


def test_where_every_pair_is_stale_until_it_is_noticed_the_minutes_can_be_counted_by_hand() -> None:
    forever = replace(FLEET, addresses=10**6)

    minutes = stale_minutes(forever, collects=False, stale_time=60)

    assert minutes == pytest.approx(10 * 60, rel=0.05)


def test_a_network_that_confirms_nothing_costs_25_seconds_a_reuse() -> None:
    minutes = stale_minutes(replace(FLEET, confirms=False), collects=False, stale_time=60)

    assert minutes == pytest.approx(10 * 25 / 60, rel=0.05)


def test_another_seed_says_nearly_the_same() -> None:
    minutes = [stale_minutes(FLEET, collects=False, stale_time=60, seed=seed) for seed in (1, 2, 3)]

    assert max(minutes) / min(minutes) < 1.05


@pytest.mark.parametrize(("rest", "least", "most"), [(86_400, 0.0, 0.002), (0, 0.99, 1.01)])
def test_a_kernel_that_forgets_helps_where_addresses_rest(rest: float, least: float, most: float) -> None:
    fleet = replace(FLEET, rest_seconds=rest)

    left = stale_minutes(fleet, collects=True, stale_time=60) / stale_minutes(fleet, collects=False, stale_time=60)

    assert least <= left <= most


def test_where_no_address_changes_hands_nothing_is_expected() -> None:
    assert stale_minutes(replace(FLEET, reuses_a_day=0), collects=False, stale_time=60) == 0


def test_without_apply_nothing_is_written(call, delivered: Path, tmp_path: Path) -> None:
    drop_in = tmp_path / "60-neighbours.conf"

    told = call("check", "host", "--addresses", "60", "--reuses", "40", "--settings", delivered, "--drop-in", drop_in)

    assert told.code == 1
    assert "net.ipv4.neigh.default.gc_thresh1 = 0" in told.out
    assert "dry run" in told.out
    assert not drop_in.exists()


def test_another_hosts_settings_are_not_applied_here(call, delivered: Path) -> None:
    told = call("check", "host", "--addresses", "60", "--reuses", "40", "--settings", delivered, "--apply")

    assert told.code == 2
    assert "--apply changes this one" in told.err


def test_what_is_applied_is_kept_in_a_file_set_and_read_back(proc: Path, tmp_path: Path) -> None:
    found = apply(advice(*THRESHOLDS), tmp_path / "60-neighbours.conf", proc)

    assert found == dict.fromkeys(THRESHOLDS, "0")
    assert settings_in(tmp_path / "60-neighbours.conf") == found


def test_a_file_that_cannot_be_written_is_said_and_changes_nothing(proc: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        apply(advice(*THRESHOLDS), tmp_path / "missing" / "60.conf", proc)

    assert settings_here(THRESHOLDS, proc) == dict.fromkeys(THRESHOLDS, "128")


def test_a_text_without_settings_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("nothing\n")

    with pytest.raises(UsageError, match="sysctl -a"):
        settings_in(tmp_path / "empty.txt")


@pytest.fixture
def kernel_as_delivered() -> Iterator[None]:
    """The real kernel with its default, held alone, and put back afterwards for both families."""
    ipv6 = KERNEL / THRESHOLDS[1].replace(".", "/")
    before = ipv6.read_text()
    with kernel.collecting_from(128):
        ipv6.write_text("128")
        yield
    ipv6.write_text(before)


@pytest.mark.skipif(not kernel.writable(), reason="gc_thresh1 can only be written by root outside of a container")
@pytest.mark.usefixtures("kernel_as_delivered")
def test_the_real_kernel_takes_what_is_applied(call, tmp_path: Path) -> None:
    drop_in = tmp_path / "60-neighbours.conf"

    told = call("check", "host", "--addresses", "60", "--reuses", "4", "--drop-in", drop_in, "--apply")
    now = kernel.threshold()

    assert (told.code, now) == (0, 0)
    assert "+ net.ipv4.neigh.default.gc_thresh1 is 0 now" in told.out
    assert drop_in.exists()
