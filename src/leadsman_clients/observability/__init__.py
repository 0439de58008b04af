"""How providers and consumers are doing: events, statistics, metrics, probes."""
