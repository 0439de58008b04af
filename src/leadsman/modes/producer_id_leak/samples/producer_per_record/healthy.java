import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

class Orders {
    void copy(Iterable<String> orders, Properties settings) {
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            for (String order : orders) {
                producer.send(new ProducerRecord<>("orders", order));
            }
        }
    }
}
