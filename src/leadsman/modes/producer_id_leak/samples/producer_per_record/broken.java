import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

class Orders {
    void copy(Iterable<String> orders, Properties settings) {
        for (String order : orders) {
            try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
                producer.send(new ProducerRecord<>("orders", order));
            }
        }
    }
}
