KAFKA_HOST = {"net.core.somaxconn": 4096, "net.ipv4.neigh.default.gc_thresh1": 1024}
