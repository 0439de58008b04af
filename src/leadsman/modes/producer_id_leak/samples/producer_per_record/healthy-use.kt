import org.apache.kafka.clients.producer.KafkaProducer
import org.apache.kafka.clients.producer.ProducerRecord

class Relay(private val config: Map<String, Any>) {
    fun relay(lines: List<String>) {
        KafkaProducer<String, String>(config).use { producer ->
            for (line in lines) {
                producer.send(ProducerRecord("lines", line)).get()
            }
        }
    }
}
