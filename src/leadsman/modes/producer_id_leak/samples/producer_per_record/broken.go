package orders

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

func copyOrders(ctx context.Context, orders []string) {
	for _, order := range orders {
		client, _ := kgo.NewClient(kgo.SeedBrokers("kafka:9092"))
		client.ProduceSync(ctx, kgo.StringRecord(order))
		client.Close()
	}
}
