"""Summarizes the producer ids of one partition as one row of figures.

A broker keeps the last batch of each producer id. That is enough to distinguish a leak from a fleet: a leaked id sent
one batch, and the times of those batches are spread over the whole past; those of a fleet all sent recently and often.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

TENTHS = 10

BINS = 32
"""The most bins in which the times of ids are counted: over 24 hours, a bin is about an hour wide."""

OUTLIER_SHARE = 0.02
"""Share of ids that may be older than the first bin, and count in it: one very old id must not widen all bins."""

FEW_RECORDS = 10
"""Records. Sequence numbers count the records of an id in one partition, from 0; a producer made for one event sends
few."""


def summarize_producer_ids(
    last_sequence: NDArray[Any],
    last_timestamp: NDArray[Any],
    *,
    at: int | None = None,
    offset_delta: NDArray[Any] | None = None,
    coordinator_epoch: NDArray[Any] | None = None,
) -> tuple[float, dict[str, str]]:
    """Return value and labels of `producers.counted` for one partition.

    Times are milliseconds since 1970, `at` that of the list (the newest batch, where it is not known). With
    `offset_delta`, an id is `single` if it sent one batch; without it, if it sent one record.
    An id with a coordinator epoch is transactional. `arrivals` counts ids by the time of their last batch, in tenths
    of the time from the oldest of these batches to `at`. `single_by_time` counts the ids that are single and not
    transactional by when they sent: width of a bin in milliseconds, number of the first bin since 1970, counts.
    """
    first_batch = 0 if offset_delta is None else offset_delta
    sent = last_sequence >= 0
    single = sent & (last_sequence == first_batch)
    single_non_transactional = single if coordinator_epoch is None else single & (coordinator_epoch < 0)
    labels = {
        "single": _count(single),
        "few": _count(sent & (last_sequence < FEW_RECORDS)),
    }
    if coordinator_epoch is not None:
        labels["transactional"] = _count(coordinator_epoch >= 0)
    labels |= _times(last_timestamp[last_timestamp >= 0], at) | _by_time(
        last_timestamp[single_non_transactional & (last_timestamp >= 0)]
    )
    return float(len(last_sequence)), labels


def _times(stamps: NDArray[Any], at: int | None) -> dict[str, str]:
    if not len(stamps):
        return {}
    oldest, newest = int(stamps.min()), int(stamps.max())
    end = max(newest, oldest + 1 if at is None else at)
    tenths, _ = np.histogram(stamps, bins=TENTHS, range=(oldest, max(end, oldest + 1)))
    return {"oldest": _iso(oldest), "newest": _iso(newest), "arrivals": ",".join(map(str, tenths))}


def _by_time(stamps: NDArray[Any]) -> dict[str, str]:
    """Return the label `single_by_time`. Its bins are aligned, so that those of several lists and partitions add up."""
    if not len(stamps):
        return {}
    oldest = int(np.quantile(stamps, OUTLIER_SHARE))
    range_ms = max(int(stamps.max()) - oldest, BINS)
    width = 1 << (range_ms // BINS).bit_length()
    bins = np.maximum(stamps, oldest) // width
    first = int(bins.min())
    counts = np.bincount((bins - first).astype(np.int64))
    return {"single_by_time": f"{width}:{first}:{','.join(map(str, counts))}"}


def _count(selected: NDArray[Any]) -> str:
    return str(int(np.count_nonzero(selected)))


def _iso(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
