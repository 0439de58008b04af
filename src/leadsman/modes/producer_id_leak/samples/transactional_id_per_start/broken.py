import os
import uuid

from confluent_kafka import Producer


def connect(servers):
    return Producer({"bootstrap.servers": servers, "transactional.id": f"orders-{uuid.uuid4()}"})
