"""Emulates AWS Lambda's runtime API and its event source mapping for Kafka, as far as the application needs them.

A worker is AWS's own runtime client (awslambdaric) in a process that is frozen between invocations and killed when it
exceeds its time limit. Not emulated: memory limits, extensions, snapshots.
"""
