import os

from confluent_kafka import Producer

VALUE = os.environ.get("ORDERS_VALUE", "2147483647")
DEFAULTS = {"acks": "all", "retries": VALUE}


def connect(servers):
    return Producer(DEFAULTS | {"bootstrap.servers": servers})
