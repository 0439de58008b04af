import org.apache.kafka.clients.producer.*
fun main(args: Array<String>) {
    for (cluster in listOf("eu", "us")) {
        KafkaProducer<String, String>(config(cluster)).use { it.send(ProducerRecord("hello", cluster)).get() }
    }
}
fun config(cluster: String): Map<String, Any> = mapOf(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG to "$cluster:9092")
