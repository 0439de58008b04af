"""When a TLS certificate ends."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

SIGNAL = Signal(
    meaning="the time at which a certificate ends, in seconds since 1970",
    readings={
        Exporter.STRIMZI: ExporterMetric(
            metric="strimzi_certificate_expiration_timestamp_ms",
            reference="strimzi/strimzi-kafka-operator KafkaAssemblyOperatorMetricsHolder.java",
            transform="{metric} / 1000",
            misses="the CA certificates that Strimzi's operator manages, no client's own",
        ),
        Exporter.BLACKBOX: ExporterMetric(
            metric="probe_ssl_earliest_cert_expiry",
            reference="prometheus/blackbox_exporter; awesome-prometheus-alerts reads it too",
            misses="the listeners that blackbox_exporter probes (module with `prober: tcp`, `tls: true`)",
        ),
    },
)
