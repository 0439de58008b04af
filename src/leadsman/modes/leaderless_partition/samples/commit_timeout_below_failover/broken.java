import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;

class Billing {
    private static final int TIMEOUT_MS = 5 * 1000;

    static Map<String, Object> settings() {
        Map<String, Object> settings = new HashMap<>();
        settings.put(ConsumerConfig.GROUP_ID_CONFIG, "billing");
        settings.put(ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, TIMEOUT_MS);
        return settings;
    }

    static KafkaConsumer<String, String> connect() {
        return new KafkaConsumer<>(settings());
    }
}
