"""The limit of a broker's heap."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

SIGNAL = Signal(
    meaning="the limit of a broker's heap in bytes (-Xmx)",
    readings={
        Exporter.JMX: ExporterMetric(
            metric='jvm_memory_max_bytes{area="heap"}',
            reference="prometheus/client_java JvmMemoryMetrics, which the Java agent of jmx_exporter registers",
        ),
        Exporter.STRIMZI: ExporterMetric(
            metric='jvm_memory_max_bytes{area="heap"}',
            reference="prometheus/client_java JvmMemoryMetrics, which the Java agent of jmx_exporter registers",
        ),
        Exporter.MSK: ExporterMetric(
            metric="java_lang_Memory_HeapMemoryUsage_max",
            reference="AWS observability recipes, Monitoring Amazon MSK with AWS Managed Collector",
        ),
    },
)
