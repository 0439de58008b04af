package orders

import "github.com/IBM/sarama"

func connect(servers []string) (sarama.SyncProducer, error) {
	config := sarama.NewConfig()
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Retry.Max = 10
	return sarama.NewSyncProducer(servers, config)
}
