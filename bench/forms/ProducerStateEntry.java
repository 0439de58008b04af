package org.apache.kafka.storage.internals.log;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Holds so many producer ids as a broker does, and so many bytes of buffers, says so, and waits until its input ends. */
public class ProducerStateEntry {
    static class BatchMetadata {
        final int lastSeq = 0;
        final long lastOffset;
        final int offsetDelta = 0;
        final long timestamp = System.currentTimeMillis();

        BatchMetadata(long lastOffset) {
            this.lastOffset = lastOffset;
        }
    }

    final long producerId;
    final Deque<BatchMetadata> batchMetadata = new ArrayDeque<>(5);
    short producerEpoch = 0;
    int coordinatorEpoch = -1;
    long lastTimestamp = System.currentTimeMillis();

    ProducerStateEntry(long producerId) {
        this.producerId = producerId;
        batchMetadata.add(new BatchMetadata(producerId));
    }

    public static void main(String[] arguments) throws Exception {
        Map<Long, ProducerStateEntry> producers = new HashMap<>();
        List<byte[]> buffers = new ArrayList<>();
        for (long id = 0; id < Long.parseLong(arguments[0]); id++) producers.put(id * 37, new ProducerStateEntry(id * 37));
        for (long left = Long.parseLong(arguments[1]); left > 0; left -= 16384) buffers.add(new byte[16384]);
        System.out.println("holding");
        System.in.read();
        System.out.println(producers.size() + buffers.size());
    }
}
