import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A small service with the Java client. Arguments: worker, topic, producers, settings as name=value. See producer_service.py. */
public final class ProducerService {
    private static final Logger LOG = LoggerFactory.getLogger("com.example.orders.OrderHandler");

    private final String worker;
    private final String topic;
    private final Properties settings = new Properties();
    private final List<Producer<String, String>> producers = new ArrayList<>();
    private int deliveries;
    private long blockMillis;

    private ProducerService(String worker, String topic) {
        this.worker = worker;
        this.topic = topic;
        String strings = "org.apache.kafka.common.serialization.StringSerializer";
        settings.put("key.serializer", strings);
        settings.put("value.serializer", strings);
    }

    public static void main(String[] arguments) throws Exception {
        ProducerService service = new ProducerService(arguments[0], arguments[1]);
        for (int i = 3; i < arguments.length; i++) {
            int equals = arguments[i].indexOf('=');
            service.settings.put(arguments[i].substring(0, equals), arguments[i].substring(equals + 1));
        }
        service.setProducers(arguments[2]);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        String line;
        while ((line = commands.readLine()) != null && !line.equals("quit")) {
            String[] words = line.split(" ");
            if (words[0].equals("producers")) {
                service.setProducers(words[1]);
            } else {
                service.blockMillis = words.length > 3 ? Long.parseLong(words[3]) : 0;
                service.handle(words[1], words.length > 2 ? Integer.parseInt(words[2]) : 0);
            }
        }
        LOG.info("Shutting down");
        service.close();
    }

    private void setProducers(String count) {
        close();
        for (int i = count.equals("record") ? 0 : Integer.parseInt(count); i > 0; i--) {
            producers.add(createProducer());
        }
    }

    private Producer<String, String> createProducer() {
        Producer<String, String> producer = new KafkaProducer<>(settings);
        if (settings.containsKey("transactional.id")) {
            producer.initTransactions();
        }
        return producer;
    }

    private void close() {
        producers.forEach(Producer::close);
        producers.clear();
    }

    private RecordMetadata deliver(String value) throws Exception {
        if (!producers.isEmpty()) {
            return deliver(producers.get(deliveries++ % producers.size()), value);
        }
        try (Producer<String, String> producer = createProducer()) {
            return deliver(producer, value);
        }
    }

    private RecordMetadata deliver(Producer<String, String> producer, String value) throws Exception {
        boolean transactional = settings.containsKey("transactional.id");
        if (transactional) {
            producer.beginTransaction();
        }
        CompletableFuture<RecordMetadata> acknowledgement = new CompletableFuture<>();
        long millis = blockMillis;
        producer.send(new ProducerRecord<>(topic, value), (sent, error) -> {
            if (error == null) {
                acknowledgement.complete(sent);
            } else {
                acknowledgement.completeExceptionally(error);
            }
            block(millis);
        });
        RecordMetadata sent = acknowledgement.get();
        if (transactional) {
            producer.commitTransaction();
        }
        return sent;
    }

    /** A slow callback. The producer calls it on its only I/O thread, which does nothing else meanwhile. */
    private static void block(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
    }

    private void handle(String event, int size) {
        LOG.info("Handling event {}", event);
        String value = worker + ":" + event;
        long began = System.nanoTime();
        String result = "ok";
        long offset = -1;
        try {
            String padded = size > value.length() ? String.format("%-" + size + "s", value) : value;
            RecordMetadata sent = deliver(padded);
            offset = sent.offset();
            LOG.info("Event {} delivered to {}@{} in {} ms", event, topic + "-" + sent.partition(), offset, millisSince(began));
        } catch (Exception error) {
            Throwable cause = error instanceof ExecutionException ? error.getCause() : error;
            result = cause.toString();
            LOG.error("Event " + event + " failed: " + result, error);
        }
        System.out.println("{\"id\": \"" + event + "\", \"value\": \"" + value + "\", \"result\": \"" + escaped(result)
            + "\", \"offset\": " + offset + ", \"ms\": " + millisSince(began) + "}");
        System.out.flush();
    }

    private static long millisSince(long began) {
        return (System.nanoTime() - began) / 1_000_000;
    }

    private static String escaped(String text) {
        return text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n").replace("\t", " ");
    }
}
