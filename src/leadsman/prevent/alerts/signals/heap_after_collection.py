"""The live data in a broker's heap."""

from leadsman.prevent.alerts.exporter import Exporter
from leadsman.prevent.alerts.signal import ExporterMetric, Signal

OLD = 'jvm_memory_pool_collection_used_bytes{pool=~".*(Old Gen|Tenured Gen|Old Generation|ZHeap|Shenandoah).*"}'
"""The old generation of every collector of the JVM: Serial, Parallel, G1, ZGC and Shenandoah name it differently."""

SOURCE = "prometheus/client_java JvmMemoryMetrics, which the Java agent of jmx_exporter registers"
G1 = "G1 sets the value at mixed and full collections only, so on a broker with much free heap it can be hours old"

SIGNAL = Signal(
    meaning="heap in use after the last collection of the old generation, in bytes: the live data",
    readings={
        Exporter.JMX: ExporterMetric(metric=OLD, reference=SOURCE, misses=G1),
        Exporter.STRIMZI: ExporterMetric(metric=OLD, reference=SOURCE, misses=G1),
        Exporter.MSK: ExporterMetric(
            metric="java_lang_Memory_HeapMemoryUsage_used",
            reference="AWS observability recipes, Monitoring Amazon MSK with AWS Managed Collector",
            transform="min_over_time({metric}[30m])",
            misses="the smallest heap in use of half an hour stands for the heap after a collection",
        ),
    },
)
