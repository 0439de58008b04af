"""The alternatives: other causes of a growing heap or of many producer ids, and what rules each out."""

from __future__ import annotations

from leadsman.model import Alternative

ALTERNATIVES = (
    Alternative(
        id="fleet",
        cause="A large but stable fleet of producers",
        distinguished_by="as many ids as connected producers, which use their ids again",
        ruled_out=(
            (
                "{single_batch:count} of {described:count id|ids} sent a single batch and never again.",
                "{records_per_new_id:count record was|records were} written for each new id.",
                "{written_per_new_id:count record was|records were} written for each new id.",
                "Connections stayed at about {connections:count} while {ids_beyond_connections:count} ids came.",
                "{ids_beyond_fleet:count} ids came over {span:duration}, more than a fleet of producers makes.",
            ),
        ),
        observed="The ids belong to producers that send again and again.",
        not_visible=(
            (
                "Cannot be ruled out: the capture shows what {described:count} ids sent, not what the others sent.",
                "Cannot be ruled out: the capture does not show what the ids sent. DescribeProducers shows it.",
            ),
        ),
    ),
    Alternative(
        id="burst",
        cause="A burst that is over: a deployment, a batch job",
        distinguished_by="the count does not change, or falls",
        ruled_out=(
            (
                "New ids came for {span:duration}, until {stopped_at:moment}.",
                ("New ids came in {arrival_rises:count} of {arrival_steps:count} periods, over {span:duration}."),
                "The count rose in {rises:count} steps, over {span:duration}.",
            ),
        ),
        observed=(
            (
                "The number of ids rose between {rose_since:moment} and {rose_until:moment}, and not after that.",
                "The ids came at one time, and no new ids came after that: they will expire.",
            ),
        ),
        not_visible=(
            (
                "Cannot be ruled out: the count rose in {rises:count} steps; as many deployments look the same.",
                "Cannot be ruled out: collect another count in an hour to see whether new ids still come.",
            ),
        ),
    ),
    Alternative(
        id="transactional",
        cause="Transactional producers",
        distinguished_by="the ids have a transaction coordinator",
        ruled_out=(
            (
                "{transactional:count} of {described:count id has|ids have} a transaction coordinator.",
                "None of {described:count id|ids} has a transaction coordinator.",
            ),
        ),
        observed="Most ids belong to transactional producers, which keep their ids.",
        not_visible=("Cannot be ruled out: DescribeProducers and snapshots show which ids are transactional."),
    ),
    Alternative(
        id="heap_eater",
        cause="Other objects than producer ids fill the heap",
        distinguished_by="ids hold a small share of the heap",
        ruled_out=(
            (
                "{peak_ids:count} ids used {id_heap_bytes:bytes} of a heap of {limit:bytes}.",
                (
                    "At most {in_use:bytes} of {limit:bytes} are in use on {fullest}, {id_heap_bytes:bytes} of "
                    "them by ids."
                ),
                ("{live:bytes} of {limit:bytes} are in use after a collection, {id_heap_bytes:bytes} of them by ids."),
                "Ids use {id_heap_bytes:bytes} of a heap of {limit:bytes}.",
            ),
        ),
        observed=("{live:bytes} of {limit:bytes} are in use, and only {id_heap_bytes:bytes} of them by producer ids."),
        not_visible=(
            (
                "{live:bytes} of {limit:bytes} are in use, {id_heap_bytes:bytes} of them by ids.",
                (
                    "{live:bytes} are in use, {id_heap_bytes:bytes} of them by ids. The capture does not show the "
                    "heap's limit (-Xmx)."
                ),
                (
                    "For {fullest} the capture does not show the heap in use after a collection. A class histogram "
                    "and the heap's limit (-Xmx) show it."
                ),
                (
                    "The capture does not show the heap in use after a collection. A class histogram and the "
                    "heap's limit (-Xmx) show it."
                ),
            ),
        ),
    ),
)
