import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

class Orders {
    private final KafkaProducer<String, String> producer = new KafkaProducer<>(Settings.load());

    void copy(Iterable<String> orders) {
        for (String order : orders) {
            producer.send(new ProducerRecord<>("orders", order));
            producer.flush();
        }
    }
}
