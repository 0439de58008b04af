import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A small service with the Java client. Arguments: worker, topic, settings as name=value. Talks as talking.py says. */
public final class Talk {
    private static final Logger LOG = LoggerFactory.getLogger("com.example.orders.OrderHandler");

    public static void main(String[] arguments) throws Exception {
        String worker = arguments[0];
        String topic = arguments[1];
        Properties settings = new Properties();
        String strings = "org.apache.kafka.common.serialization.StringSerializer";
        settings.put("key.serializer", strings);
        settings.put("value.serializer", strings);
        for (int i = 2; i < arguments.length; i++) {
            int equals = arguments[i].indexOf('=');
            settings.put(arguments[i].substring(0, equals), arguments[i].substring(equals + 1));
        }
        try (Producer<String, String> producer = new KafkaProducer<>(settings)) {
            BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
            String line;
            while ((line = commands.readLine()) != null && !line.equals("quit")) {
                handle(producer, topic, worker, line.substring("send ".length()));
            }
            LOG.info("Shutting down");
        }
    }

    private static void handle(Producer<String, String> producer, String topic, String worker, String event) {
        LOG.info("Handling event {}", event);
        String value = worker + ":" + event;
        long began = System.nanoTime();
        String result = "ok";
        long offset = -1;
        try {
            RecordMetadata sent = producer.send(new ProducerRecord<>(topic, value)).get();
            offset = sent.offset();
            LOG.info("Event {} delivered to {}@{} in {} ms", event, topic + "-" + sent.partition(), offset, since(began));
        } catch (Exception error) {
            Throwable cause = error instanceof ExecutionException ? error.getCause() : error;
            result = cause.toString();
            LOG.error("Event " + event + " failed: " + result, error);
        }
        System.out.println("{\"id\": \"" + event + "\", \"value\": \"" + value + "\", \"result\": \"" + escaped(result)
            + "\", \"offset\": " + offset + ", \"ms\": " + since(began) + "}");
        System.out.flush();
    }

    private static long since(long began) {
        return (System.nanoTime() - began) / 1_000_000;
    }

    private static String escaped(String text) {
        return text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n").replace("\t", " ");
    }
}
