import io.ktor.server.application.*
import io.ktor.server.routing.*
import org.apache.kafka.clients.producer.KafkaProducer
import org.apache.kafka.clients.producer.ProducerRecord

fun Application.module(config: Map<String, Any>) {
    routing {
        post("/orders") {
            val producer = KafkaProducer<String, String>(config)
            producer.send(ProducerRecord("orders", call.receiveText())).get()
            producer.close()
        }
    }
}
