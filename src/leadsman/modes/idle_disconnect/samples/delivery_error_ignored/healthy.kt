import org.apache.kafka.clients.producer.KafkaProducer
import org.apache.kafka.clients.producer.ProducerRecord

class Orders {
    private val producer = KafkaProducer<String, String>(Settings.load())

    fun publish(order: String) {
        producer.send(ProducerRecord("orders", order)) { metadata, exception: Exception? -> exception?.let { failures.add(it) } }
    }
}
