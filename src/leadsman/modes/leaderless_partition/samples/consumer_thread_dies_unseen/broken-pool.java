import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.clients.consumer.*;

class Workers {
    void start(Map<String, Object> config) {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        pool.submit(() -> {
            KafkaConsumer<String, String> consumer = new KafkaConsumer<>(config);
            consumer.subscribe(List.of("orders"));
            while (true) {
                consumer.poll(Duration.ofSeconds(1)).forEach(System.out::println);
                consumer.commitSync();
            }
        });
    }
}
