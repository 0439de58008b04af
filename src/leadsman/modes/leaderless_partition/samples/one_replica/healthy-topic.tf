provider "kafka" {
  bootstrap_servers = ["kafka1:9092", "kafka2:9092", "kafka3:9092"]
}

resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = 12
  replication_factor = 3
}
