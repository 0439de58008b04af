import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A service that processes records, the usual way: Streams, or a loop of poll and commitSync that lets exceptions out.
 *
 * Arguments: name, topic, kind (streams or consumer), supervised (true or false), then settings as name=value; after
 * "--" the next service of the same process. A value is "number:milliseconds of sending:"; one that holds "poison" makes
 * a service fail by itself. Twice a second each prints a report as one line of JSON; "begin" on standard input ends the
 * warm-up: records sent from now on can be late. "quit" ends all. A supervised service starts again when it died.
 */
public final class ConsumerService {
    private static final long LATE_AFTER_MS = 1500;
    private static final Logger LOG = LoggerFactory.getLogger("com.acme.Process");
    private static volatile boolean quitting = false;
    private static volatile long warmUpEnded = Long.MAX_VALUE;

    private final String name;
    private final String topic;
    private final boolean streams;
    private final boolean supervised;
    private final Properties settings = new Properties();
    private final BitSet seen = new BitSet();
    private final AtomicLong twice = new AtomicLong();
    private final AtomicLong late = new AtomicLong();
    private final AtomicLong deaths = new AtomicLong();
    private volatile long slowest = 0;
    private volatile long latest = 0;
    private volatile String state = "STARTING";

    private ConsumerService(List<String> arguments) {
        name = arguments.get(0);
        topic = arguments.get(1);
        streams = arguments.get(2).equals("streams");
        supervised = Boolean.parseBoolean(arguments.get(3));
        for (String argument : arguments.subList(4, arguments.size())) {
            int equals = argument.indexOf('=');
            settings.put(argument.substring(0, equals), argument.substring(equals + 1));
        }
    }

    public static void main(String[] arguments) throws Exception {
        List<ConsumerService> services = new ArrayList<>();
        List<String> remaining = Arrays.asList(arguments);
        for (int end = remaining.indexOf("--"); end >= 0; end = remaining.indexOf("--")) {
            services.add(new ConsumerService(remaining.subList(0, end)));
            remaining = remaining.subList(end + 1, remaining.size());
        }
        services.add(new ConsumerService(remaining));
        for (ConsumerService service : services) {
            start(service::run, service.name);
        }
        start(() -> reportAll(services), "reporter");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null && !line.equals("quit"); line = in.readLine()) {
            if (line.equals("begin")) {
                warmUpEnded = System.currentTimeMillis();
            }
        }
        quitting = true;
        services.forEach(ConsumerService::report);
        Runtime.getRuntime().halt(0);
    }

    private static void start(Runnable work, String name) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }

    private void run() {
        do {
            try {
                if (streams) {
                    streams();
                } else {
                    consume();
                }
            } catch (RuntimeException error) {
                LOG.error("Exception in thread \"" + name + "\"", error);
            }
            if (quitting) {
                return;
            }
            deaths.incrementAndGet();
            state = "DEAD";
        } while (supervised);
    }

    private void streams() {
        settings.putIfAbsent("default.key.serde", Serdes.ByteArraySerde.class.getName());
        settings.putIfAbsent("default.value.serde", Serdes.ByteArraySerde.class.getName());
        StreamsBuilder builder = new StreamsBuilder();
        builder.<byte[], byte[]>stream(topic).foreach((key, value) -> process(value));
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        Object ended = new Object();
        boolean[] dead = {false};
        streams.setStateListener((now, before) -> {
            LOG.info("The application went from {} to {}", before, now);
            state = now.name();
            synchronized (ended) {
                dead[0] = now.name().equals("ERROR") || now.name().equals("NOT_RUNNING");
                ended.notifyAll();
            }
        });
        streams.start();
        synchronized (ended) {
            while (!dead[0]) {
                try {
                    ended.wait();
                } catch (InterruptedException error) {
                    return;
                }
            }
        }
        streams.close(Duration.ofSeconds(5));
    }

    private void consume() {
        String bytes = "org.apache.kafka.common.serialization.ByteArrayDeserializer";
        settings.putIfAbsent("key.deserializer", bytes);
        settings.putIfAbsent("value.deserializer", bytes);
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings)) {
            consumer.subscribe(Collections.singletonList(topic));
            state = "RUNNING";
            while (!quitting) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(200));
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    process(record.value());
                }
                consumer.commitSync();
            }
        }
    }

    private void process(byte[] value) {
        String text = new String(value, StandardCharsets.UTF_8);
        if (text.contains("poison")) {
            throw new IllegalStateException("An order without an amount: " + text);
        }
        String[] parts = text.split(":");
        int number = Integer.parseInt(parts[0]);
        long sent = Long.parseLong(parts[1]);
        long took = sent < warmUpEnded ? 0 : System.currentTimeMillis() - sent;
        synchronized (seen) {
            if (seen.get(number)) {
                twice.incrementAndGet();
            } else if (took > LATE_AFTER_MS) {
                late.incrementAndGet();
            }
            seen.set(number);
            slowest = Math.max(slowest, took);
            latest = System.currentTimeMillis();
        }
    }

    private static void reportAll(List<ConsumerService> services) {
        while (!quitting) {
            services.forEach(ConsumerService::report);
            try {
                Thread.sleep(500);
            } catch (InterruptedException error) {
                return;
            }
        }
    }

    private void report() {
        synchronized (seen) {
            System.out.println("{\"name\": \"" + name + "\", \"state\": \"" + state + "\", \"processed\": "
                + seen.cardinality() + ", \"twice\": " + twice + ", \"late\": " + late + ", \"deaths\": " + deaths
                + ", \"slowest_ms\": " + slowest + ", \"latest_ms\": " + latest + "}");
            System.out.flush();
        }
    }
}
