def write(records, servers):
    return (
        records.writeStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("kafka.connections.max.idle.ms", "270000")
        .start()
    )
