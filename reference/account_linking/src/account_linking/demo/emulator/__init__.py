"""AWS Lambda's runtime API and its mapping from topics, with the semantics that matter here.

A worker is AWS's own runtime client (awslambdaric) in a process that is frozen between invocations and killed when it
takes too long. Not emulated: memory limits, extensions, snapshots.
"""
