package orders

import "github.com/IBM/sarama"

func connect(servers []string) (sarama.SyncProducer, error) {
	config := sarama.NewConfig()
	config.Producer.Retry.Max = 0
	return sarama.NewSyncProducer(servers, config)
}
