import os
import uuid

from confluent_kafka import Producer


def connect(servers):
    return Producer({"bootstrap.servers": servers, "transactional.id": f"orders-{os.environ['POD_INDEX']}"})
