"""`leadsman check host`: its advice, its forecast, and that it changes nothing without --apply."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from leadsman.errors import UsageError
from leadsman.gate.host import PROC_SYS, Advice, Fleet, apply_advice, kernel_settings, parse_sysctl
from leadsman.lab.network import neighbour_table
from leadsman.modes.stale_neighbour.host import check, stale_minutes

FLEET = Fleet(
    addresses=60, reuses_per_day=10, address_unused_seconds=600, repair_seconds=3600, network_confirms_mac=True
)
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
    forecast = check(parse_sysctl(delivered), FLEET)

    assert [(each.setting, each.recommended) for each in forecast.advice] == [(name, "0") for name in THRESHOLDS]
    assert forecast.harm_advised < forecast.harm_now / 2


def test_a_kernel_that_follows_the_advice_is_left_alone(delivered: Path) -> None:
    delivered.write_text(AS_DELIVERED.replace("gc_thresh1 = 128", "gc_thresh1 = 0"))

    forecast = check(parse_sysctl(delivered), FLEET)

    assert forecast.advice == ()
    assert forecast.harm_now == forecast.harm_advised


def test_a_table_that_the_fleet_does_not_fit_into_is_made_larger(delivered: Path) -> None:
    forecast = check(parse_sysctl(delivered), replace(FLEET, addresses=3000))

    larger = {each.setting.rpartition(".")[2]: each.recommended for each in forecast.advice if "ipv4" in each.setting}
    assert larger == {"gc_thresh1": "0", "gc_thresh2": "6000", "gc_thresh3": "12000"}


def test_where_every_pair_is_stale_until_it_is_noticed_the_minutes_can_be_counted_by_hand() -> None:
    forever = replace(FLEET, addresses=10**6)

    minutes = stale_minutes(forever, collects=False, stale_time=60)

    assert minutes == pytest.approx(10 * 60, rel=0.05)


def test_a_network_that_confirms_nothing_costs_25_seconds_a_reuse() -> None:
    minutes = stale_minutes(replace(FLEET, network_confirms_mac=False), collects=False, stale_time=60)

    assert minutes == pytest.approx(10 * 25 / 60, rel=0.05)


def test_another_seed_gives_nearly_the_same_forecast() -> None:
    minutes = [stale_minutes(FLEET, collects=False, stale_time=60, seed=seed) for seed in (1, 2, 3)]

    assert max(minutes) / min(minutes) < 1.05


@pytest.mark.parametrize(("rest", "least", "most"), [(86_400, 0.0, 0.002), (0, 0.99, 1.01)])
def test_a_kernel_that_forgets_helps_where_addresses_rest(rest: float, least: float, most: float) -> None:
    fleet = replace(FLEET, address_unused_seconds=rest)

    left = stale_minutes(fleet, collects=True, stale_time=60) / stale_minutes(fleet, collects=False, stale_time=60)

    assert least <= left <= most


def test_where_no_address_changes_hands_nothing_is_expected() -> None:
    assert stale_minutes(replace(FLEET, reuses_per_day=0), collects=False, stale_time=60) == 0


def test_without_apply_nothing_is_written(call, delivered: Path, tmp_path: Path) -> None:
    drop_in = tmp_path / "60-neighbours.conf"

    result = call("check", "host", "--addresses", "60", "--reuses", "40", "--settings", delivered, "--drop-in", drop_in)

    assert result.code == 1
    assert "net.ipv4.neigh.default.gc_thresh1 = 0" in result.out
    assert "Nothing was changed" in result.out
    assert not drop_in.exists()


def test_another_hosts_settings_are_not_applied_here(call, delivered: Path) -> None:
    result = call("check", "host", "--addresses", "60", "--reuses", "40", "--settings", delivered, "--apply")

    assert result.code == 2
    assert "--apply changes this one" in result.err


def test_what_is_applied_is_kept_in_a_file_set_and_read_back(proc: Path, tmp_path: Path) -> None:
    found = apply_advice(advice(*THRESHOLDS), tmp_path / "60-neighbours.conf", proc)

    assert found == dict.fromkeys(THRESHOLDS, "0")
    assert parse_sysctl(tmp_path / "60-neighbours.conf") == found


def test_a_file_that_cannot_be_written_is_an_error_and_changes_nothing(proc: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        apply_advice(advice(*THRESHOLDS), tmp_path / "missing" / "60.conf", proc)

    assert kernel_settings(THRESHOLDS, proc) == dict.fromkeys(THRESHOLDS, "128")


def test_a_text_without_settings_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("nothing\n")

    with pytest.raises(UsageError, match="sysctl -a"):
        parse_sysctl(tmp_path / "empty.txt")


@pytest.fixture
def kernel_as_delivered() -> Iterator[None]:
    """The real kernel with its default, held alone, and put back afterwards for both families."""
    ipv6 = PROC_SYS / THRESHOLDS[1].replace(".", "/")
    before = ipv6.read_text()
    with neighbour_table.gc_threshold(128):
        ipv6.write_text("128")
        yield
    ipv6.write_text(before)


@pytest.mark.skipif(
    not neighbour_table.is_writable(), reason="gc_thresh1 can only be written by root outside of a container"
)
@pytest.mark.usefixtures("kernel_as_delivered")
def test_the_real_kernel_takes_what_is_applied(call, tmp_path: Path) -> None:
    drop_in = tmp_path / "60-neighbours.conf"

    result = call("check", "host", "--addresses", "60", "--reuses", "4", "--drop-in", drop_in, "--apply")
    now = neighbour_table.read_threshold()

    assert (result.code, now) == (0, 0)
    assert "+ net.ipv4.neigh.default.gc_thresh1 is 0 now" in result.out
    assert drop_in.exists()
