import io.ktor.server.application.*
import io.ktor.server.routing.*
import org.apache.kafka.clients.producer.KafkaProducer
import org.apache.kafka.clients.producer.ProducerRecord

fun Application.module(config: Map<String, Any>) {
    val producer = KafkaProducer<String, String>(config)
    routing {
        post("/orders") {
            producer.send(ProducerRecord("orders", call.receiveText())).get()
        }
    }
}
