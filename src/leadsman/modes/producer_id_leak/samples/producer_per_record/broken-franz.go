package main

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

func send(ctx context.Context, values [][]byte) error {
	for _, v := range values {
		client, err := kgo.NewClient(kgo.SeedBrokers("kafka:9092"))
		if err != nil {
			return err
		}
		if err := client.ProduceSync(ctx, &kgo.Record{Topic: "t", Value: v}).FirstErr(); err != nil {
			return err
		}
		client.Close()
	}
	return nil
}
