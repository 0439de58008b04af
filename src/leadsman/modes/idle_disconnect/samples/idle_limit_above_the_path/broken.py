import os

from confluent_kafka import Producer

VALUE = os.environ.get("ORDERS_VALUE", "900000")
DEFAULTS = {"acks": "all", "connections.max.idle.ms": VALUE}


def connect(servers):
    return Producer(DEFAULTS | {"bootstrap.servers": servers})
