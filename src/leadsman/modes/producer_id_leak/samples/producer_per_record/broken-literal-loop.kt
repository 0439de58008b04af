import org.apache.kafka.clients.producer.*

fun copy(lines: List<String>) {
    for (line in lines) {
        KafkaProducer<String, String>(config()).use { producer -> producer.send(ProducerRecord("lines", line)).get() }
    }
}

fun config(): Map<String, Any> = mapOf(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG to "kafka:9092")
