import org.apache.kafka.clients.consumer.ConsumerConfig
import org.apache.kafka.clients.consumer.KafkaConsumer

fun connect() = KafkaConsumer<String, String>(
    mapOf(ConsumerConfig.GROUP_ID_CONFIG to "billing", ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG to 5000),
)
