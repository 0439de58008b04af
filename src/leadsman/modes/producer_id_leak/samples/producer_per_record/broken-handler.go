package main

import (
	"net/http"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

func handle(w http.ResponseWriter, r *http.Request) {
	p, err := kafka.NewProducer(&kafka.ConfigMap{"bootstrap.servers": "kafka:9092"})
	if err != nil {
		http.Error(w, err.Error(), 500)
		return
	}
	defer p.Close()
	topic := "hits"
	done := make(chan kafka.Event, 1)
	p.Produce(&kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &topic}, Value: []byte("x")}, done)
	<-done
}

func main() { http.HandleFunc("/", handle); http.ListenAndServe(":80", nil) }
