def write(records, servers):
    return (
        records.writeStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("kafka.retries", "2147483647")
        .start()
    )
