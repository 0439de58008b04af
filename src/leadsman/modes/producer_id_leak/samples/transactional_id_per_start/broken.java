import java.util.Properties;
import java.util.UUID;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;

class Orders {
    private final KafkaProducer<String, String> producer;

    Orders(String servers) {
        Properties props = new Properties();
        props.put("bootstrap.servers", servers);
        props.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, "orders-" + UUID.randomUUID());
        this.producer = new KafkaProducer<>(props);
    }
}
