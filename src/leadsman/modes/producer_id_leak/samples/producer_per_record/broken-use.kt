import org.apache.kafka.clients.producer.KafkaProducer
import org.apache.kafka.clients.producer.ProducerRecord

class Relay(private val config: Map<String, Any>) {
    fun relay(lines: List<String>) {
        for (line in lines) {
            KafkaProducer<String, String>(config).use { it.send(ProducerRecord("lines", line)).get() }
        }
    }
}
