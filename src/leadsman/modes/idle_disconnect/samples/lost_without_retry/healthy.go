package orders

import "github.com/confluentinc/confluent-kafka-go/v2/kafka"

func connect(servers string) (*kafka.Producer, error) {
	config := &kafka.ConfigMap{"bootstrap.servers": servers, "acks": "all"}
	config.SetKey("retries", 2147483647)
	return kafka.NewProducer(config)
}
