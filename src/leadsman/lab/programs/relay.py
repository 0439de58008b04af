"""Carries connections out of one network namespace into another: this machine reaches the ports of a lab's host.

A socket stays in the namespace in which it was made. So the lab listens on sockets of its own network and lets this
program, which runs in the host's network, inherit them.

DESCRIPTOR:PORT...  the listening sockets, and the ports on this network's loopback that their connections go to
"""

from __future__ import annotations

import asyncio
import socket
import sys
from contextlib import suppress
from functools import partial

LOOPBACK = "127.0.0.1"
BLOCK = 65_536
"""Bytes copied at once: a scrape is one or two blocks."""


async def serve(pairs: list[tuple[int, int]]) -> None:
    """Carry connections until killed."""
    servers = [
        await asyncio.start_server(partial(_join, port=port), sock=socket.socket(fileno=descriptor))
        for descriptor, port in pairs
    ]
    print("relaying", flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))


async def _join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, port: int) -> None:
    try:
        other_reader, other_writer = await asyncio.open_connection(LOOPBACK, port)
    except OSError:
        writer.close()  # nothing listens there: the scrape fails, as it does at a host whose exporter has ended
        return
    await asyncio.gather(_copy(reader, other_writer), _copy(other_reader, writer))


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while block := await source.read(BLOCK):
            sink.write(block)
            await sink.drain()
    sink.close()


if __name__ == "__main__":
    asyncio.run(serve([(int(pair.partition(":")[0]), int(pair.partition(":")[2])) for pair in sys.argv[1:]]))
