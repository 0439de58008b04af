import java.util.Properties
import org.apache.kafka.clients.producer.KafkaProducer
import org.apache.kafka.clients.producer.ProducerConfig

class Orders(servers: String) {
    private val producer = KafkaProducer<String, String>(settings(servers))

    companion object {
        fun settings(servers: String): Properties {
            val props = Properties()
            props["bootstrap.servers"] = servers
            props[ProducerConfig.RETRIES_CONFIG] = 0
            return props
        }
    }
}
