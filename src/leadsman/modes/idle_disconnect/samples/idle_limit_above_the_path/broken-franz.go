package orders

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func connect(servers string) (*kgo.Client, error) {
	return kgo.NewClient(kgo.SeedBrokers(servers), kgo.ConnIdleTimeout(15*time.Minute))
}
