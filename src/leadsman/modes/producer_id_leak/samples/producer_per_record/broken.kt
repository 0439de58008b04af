import org.apache.kafka.clients.producer.KafkaProducer
import org.apache.kafka.clients.producer.ProducerRecord
import org.springframework.web.bind.annotation.PostMapping

class Orders(private val settings: Map<String, Any>) {
    @PostMapping("/orders")
    fun create(order: String) {
        val producer = KafkaProducer<String, String>(settings)
        producer.send(ProducerRecord("orders", order))
        producer.close()
    }
}
