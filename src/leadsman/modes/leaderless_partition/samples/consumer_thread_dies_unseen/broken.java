import java.util.concurrent.CountDownLatch;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.Topology;

class Billing {
    public static void main(String[] args) throws InterruptedException {
        CountDownLatch latch = new CountDownLatch(1);
        KafkaStreams streams = new KafkaStreams(new Topology(), Settings.load());
        streams.start();
        latch.await();
    }
}
