import org.apache.kafka.clients.producer.KafkaProducer
import org.apache.kafka.clients.producer.ProducerRecord
import org.springframework.web.bind.annotation.PostMapping

class Orders(settings: Map<String, Any>) {
    private val producer = KafkaProducer<String, String>(settings)

    @PostMapping("/orders")
    fun create(order: String) {
        producer.send(ProducerRecord("orders", order))
    }
}
