import java.time.Duration;
import org.apache.kafka.clients.consumer.KafkaConsumer;

class Billing {
    private final KafkaConsumer<String, String> consumer = new KafkaConsumer<>(Settings.load());

    void run() {
        while (isRunning()) {
            process(consumer.poll(Duration.ofMillis(1000)));
        }
    }
}
