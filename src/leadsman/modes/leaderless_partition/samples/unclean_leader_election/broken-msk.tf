resource "aws_msk_configuration" "orders" {
  name              = "orders"
  server_properties = <<PROPERTIES
auto.create.topics.enable = false
default.replication.factor = 3
unclean.leader.election.enable = true
PROPERTIES
}
