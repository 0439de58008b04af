import java.util.concurrent.CountDownLatch
import org.apache.kafka.streams.KafkaStreams
import org.apache.kafka.streams.Topology

fun main() {
    val streams = KafkaStreams(Topology(), Settings.load())
    streams.setUncaughtExceptionHandler { REPLACE_THREAD }
    streams.start()
    CountDownLatch(1).await()
}
