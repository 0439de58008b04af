import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

class Orders {
    private final KafkaProducer<String, String> producer = new KafkaProducer<>(Settings.load());

    void publish(String order) {
        producer.send(new ProducerRecord<>("orders", order), (metadata, exception) -> {
            System.out.println("sent to " + metadata.partition());
        });
    }
}
