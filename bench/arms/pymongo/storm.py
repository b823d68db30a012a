"""Lets many clients of PyMongo start at once.

The plan, and the samples that are made of it, are described in bench/internal/openloop/storm.go and stormsamples.go.
"""

import asyncio
import time

from pymongo import AsyncMongoClient
from pymongo.errors import PyMongoError
from pymongo.monitoring import ConnectionPoolListener, ServerHeartbeatListener

NANOSECONDS = 1_000_000_000


class Newcomer(ConnectionPoolListener, ServerHeartbeatListener):
    """A client, what it meets, and what becomes of its pool."""

    def __init__(self, uri):
        self.errors = self.took = 0
        self.cleared = self.cleared_with_connections = self.heartbeats_failed = 0
        self.established = set()
        self.client = AsyncMongoClient(uri, event_listeners=[self])

    async def attempt(self, pause, start):
        """Does an operation until it succeeds."""
        while not self.took:
            try:
                await self.client.bench.documents.find_one({"_id": 1})
                self.took = time.monotonic_ns() - start
            except PyMongoError:
                self.errors += 1
                await asyncio.sleep(pause)

    def connection_ready(self, event):
        self.established.add((event.address, event.connection_id))

    def connection_closed(self, event):
        # Of connections that were never ready, too.
        self.established.discard((event.address, event.connection_id))

    def pool_cleared(self, event):
        self.cleared += 1
        if any(address == event.address for address, _ in self.established):
            self.cleared_with_connections += 1

    def failed(self, event):
        self.heartbeats_failed += 1

    def ignore(self, event):
        """Listeners have a method for each event."""

    started = succeeded = ignore
    pool_created = pool_ready = pool_closed = connection_created = ignore
    connection_check_out_started = connection_check_out_failed = connection_checked_out = connection_checked_in = ignore


async def storm(plan):
    """Does what the plan says. Clients stay connected until all have succeeded or given up."""
    start = time.monotonic_ns()
    newcomers, tasks = [], []
    for _ in range(plan["clients"]):
        newcomers.append(Newcomer(plan["uri"]))
        tasks.append(asyncio.create_task(newcomers[-1].attempt(plan["pause_ns"] / NANOSECONDS, start)))
        await asyncio.sleep(0)  # so that the first need not wait until there are all
    _, late = await asyncio.wait(tasks, timeout=(plan["limit_ns"] + start - time.monotonic_ns()) / NANOSECONDS)
    samples = {
        "newcomers": [{"errors": n.errors, "took_ns": n.took} for n in newcomers],
        "cleared": sum(n.cleared for n in newcomers),
        "cleared_with_connections": sum(n.cleared_with_connections for n in newcomers),
        "heartbeats_failed": sum(n.heartbeats_failed for n in newcomers),
    }
    for task in late:
        task.cancel()
    for error in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(error, Exception):  # which those that were cancelled are not
            raise error
    await asyncio.gather(*(n.client.close() for n in newcomers))
    return samples
