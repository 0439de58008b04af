import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;

class Orders {
    private final KafkaProducer<String, String> producer;

    Orders(String servers) {
        Properties props = new Properties();
        props.put("bootstrap.servers", servers);
        props.put(ProducerConfig.RETRIES_CONFIG, 2147483647);
        this.producer = new KafkaProducer<>(props);
    }
}
