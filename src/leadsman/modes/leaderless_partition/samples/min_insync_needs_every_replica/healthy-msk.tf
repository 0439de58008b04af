resource "aws_msk_configuration" "orders" {
  name              = "orders"
  server_properties = <<PROPERTIES
auto.create.topics.enable = false
default.replication.factor = 3
min.insync.replicas = 2
PROPERTIES
}
