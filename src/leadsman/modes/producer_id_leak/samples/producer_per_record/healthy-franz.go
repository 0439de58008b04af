package main

import (
	"context"
	"log"
	"os/signal"
	"syscall"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	client, err := kgo.NewClient(
		kgo.SeedBrokers("kafka:9092"),
		kgo.ConsumerGroup("billing"),
		kgo.ConsumeTopics("orders"),
		kgo.DisableAutoCommit(),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		fetches.EachError(func(t string, p int32, err error) { log.Printf("%s %d: %v", t, p, err) })
		fetches.EachRecord(func(r *kgo.Record) {
			client.Produce(ctx, &kgo.Record{Topic: "bills", Value: r.Value}, func(_ *kgo.Record, err error) {
				if err != nil {
					log.Printf("not sent: %v", err)
				}
			})
		})
		if err := client.CommitUncommittedOffsets(ctx); err != nil {
			log.Printf("commit: %v", err)
		}
	}
}
