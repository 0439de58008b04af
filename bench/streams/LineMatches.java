import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import org.ahocorasick.trie.Trie;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;

/**
 * Reads a topic of log lines with Kafka Streams, and writes each line that any of many patterns matches to another topic.
 *
 * <p>Arguments: bootstrap servers, topic, topic of matches, file of patterns, lines in the topic, threads. A line of the
 * file is a pattern and the texts of which each line that it matches contains one, with tabs between them. For each line
 * of standard input it reads the topic once, and prints the seconds, the processor seconds of this process, and the
 * matches.
 */
public final class LineMatches {
    private static final class Signatures {
        private final List<Pattern> patterns = new ArrayList<>();
        private final Map<String, List<Integer>> byText = new HashMap<>();
        private final Trie trie;

        Signatures(Path file) throws Exception {
            Trie.TrieBuilder builder = Trie.builder();
            for (String line : Files.readAllLines(file)) {
                String[] fields = line.split("\t");
                for (int place = 1; place < fields.length; place++) {
                    byText.computeIfAbsent(fields[place], text -> new ArrayList<>()).add(patterns.size());
                    builder.addKeyword(fields[place]);
                }
                patterns.add(Pattern.compile(fields[0]));
            }
            trie = builder.build();
        }

        /** Returns the numbers of the patterns that match, with commas between them; empty where none does. */
        String matching(String line) {
            TreeSet<Integer> candidates = new TreeSet<>();
            trie.parseText(line, emit -> candidates.addAll(byText.get(emit.getKeyword())));
            StringBuilder found = new StringBuilder();
            for (int number : candidates) {
                if (patterns.get(number).matcher(line).find()) {
                    found.append(found.length() == 0 ? "" : ",").append(number);
                }
            }
            return found.toString();
        }
    }

    public static void main(String[] arguments) throws Exception {
        Signatures signatures = new Signatures(Path.of(arguments[3]));
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (int round = 0; input.readLine() != null; round++) {
            run(arguments, signatures, round);
        }
    }

    private static void run(String[] arguments, Signatures signatures, int round) throws Exception {
        long lines = Long.parseLong(arguments[4]);
        AtomicLong read = new AtomicLong();
        AtomicLong matched = new AtomicLong();
        CountDownLatch done = new CountDownLatch(1);
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(arguments[1])
                .map((writer, line) -> {
                    String found = signatures.matching(line);
                    if (!found.isEmpty()) {
                        matched.incrementAndGet();
                    }
                    if (read.incrementAndGet() == lines) {
                        done.countDown();
                    }
                    return org.apache.kafka.streams.KeyValue.pair(found, line);
                })
                .filter((found, line) -> !found.isEmpty())
                .to(arguments[2]);
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "line-matches-" + round);
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, arguments[5]);
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, Path.of(arguments[3]).getParent().resolve("state").toString());
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        long began = System.nanoTime();
        long used = processorNanos();
        try (KafkaStreams streams = new KafkaStreams(builder.build(), settings)) {
            streams.start();
            done.await();
        }
        System.out.printf(
                java.util.Locale.ROOT,
                "%.3f %.3f %d%n",
                (System.nanoTime() - began) / 1e9,
                (processorNanos() - used) / 1e9,
                matched.get());
    }

    private static long processorNanos() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }
}
