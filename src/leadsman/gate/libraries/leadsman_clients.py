"""leadsman-clients: a provider closes idle connections before its path does, unless a setting says otherwise."""

from leadsman.gate.library import Library

LIBRARY = Library(
    name="leadsman-clients",
    languages=("python",),
    modules=("leadsman_clients",),
    constructors={"kafka_producer_provider": "producer"},
    closes_idle=True,
    distributions=("leadsman-clients",),
    sends=frozenset({"send"}),
    flushes=frozenset({"flush"}),
)
