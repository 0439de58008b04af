import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.clients.consumer.*;
import org.slf4j.*;

public class Workers {
    private static final Logger log = LoggerFactory.getLogger(Workers.class);
    public static void main(String[] args) {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        for (int i = 0; i < 4; i++) {
            pool.submit(() -> {
                while (!Thread.currentThread().isInterrupted()) {
                    try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(config())) {
                        consumer.subscribe(List.of("orders"));
                        while (true) {
                            consumer.poll(Duration.ofSeconds(1)).forEach(r -> log.info("{}", r.value()));
                            consumer.commitSync();
                        }
                    } catch (Exception e) {
                        log.error("consumer failed, starting again", e);
                    }
                }
            });
        }
    }
    private static Map<String, Object> config() { return Map.of("bootstrap.servers", "kafka:9092", "group.id", "g"); }
}
