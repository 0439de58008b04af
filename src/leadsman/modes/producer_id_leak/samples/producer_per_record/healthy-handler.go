package main

import (
	"log"
	"net/http"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

func main() {
	p, err := kafka.NewProducer(&kafka.ConfigMap{"bootstrap.servers": "kafka:9092", "acks": "all"})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	go func() {
		for e := range p.Events() {
			if m, ok := e.(*kafka.Message); ok && m.TopicPartition.Error != nil {
				log.Printf("failed: %v", m.TopicPartition)
			}
		}
	}()
	topic := "hits"
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		err := p.Produce(&kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: kafka.PartitionAny}, Value: []byte(r.URL.Path)}, nil)
		if err != nil {
			http.Error(w, err.Error(), 503)
		}
	})
	log.Fatal(http.ListenAndServe(":8080", nil))
	p.Flush(15000)
}
