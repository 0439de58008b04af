package orders

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

func copyOrders(ctx context.Context, orders []string) {
	client, _ := kgo.NewClient(kgo.SeedBrokers("kafka:9092"))
	defer client.Close()
	for _, order := range orders {
		client.ProduceSync(ctx, kgo.StringRecord(order))
	}
}
