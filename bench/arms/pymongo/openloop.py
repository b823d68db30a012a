"""Puts a load on servers with PyMongo.

With the argument load it reads a schedule as JSON and prints what became of its operations as JSON; both are described
in bench/internal/openloop/schedule.go. With the argument storm it does the same with a plan of storm.py. The
asynchronous client is used: a thread for each operation that is under way would measure the interpreter's lock.
"""

import asyncio
import json
import sys
import time

from pymongo import AsyncMongoClient
from pymongo.errors import PyMongoError
from pymongo.monitoring import CommandListener

from storm import storm

NANOSECONDS = 1_000_000_000


class Replies(CommandListener):
    """Counts the commands of each operation, which is named by its comment, and the replies to them."""

    def __init__(self, run):
        self.run = run

    def started(self, event):
        operation = event.command.get("comment")
        if operation is not None:
            self.run.commands[operation] += 1

    def succeeded(self, event):
        if self.counts(event):
            self.run.served += 1

    def failed(self, event):
        if self.counts(event):
            self.run.rejected += 1

    def counts(self, event):
        return event.command_name == "find" and self.run.begin_measuring <= self.run.now() < self.run.end_measuring


class Run:
    """A run that is under way. All times are in nanoseconds from the start of the load."""

    def __init__(self, schedule):
        self.database = schedule["database"]
        self.due, self.client = schedule["due_ns"], schedule["client"]
        self.patience = schedule["patience_ns"]
        self.begin_measuring, self.end_measuring = schedule["from_ns"], schedule["until_ns"]
        self.commands = [0] * len(self.due)
        self.operations = [None] * len(self.due)
        self.served = self.rejected = 0
        self.start = time.monotonic_ns()
        self.clients = [
            AsyncMongoClient(schedule["uri"], event_listeners=[Replies(self)]) for _ in range(schedule["clients"])
        ]

    def now(self):
        return time.monotonic_ns() - self.start

    async def load(self):
        """Starts all operations, each when it is due, and waits for them as long as patience lasts."""
        for client in self.clients:
            await reach(client)
        self.start = time.monotonic_ns()
        tasks = []
        for operation, due in enumerate(self.due):
            wait = due - self.now()
            if wait > 0:
                await asyncio.sleep(wait / NANOSECONDS)
            tasks.append(asyncio.create_task(self.operate(operation)))
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=self.patience / NANOSECONDS)
            for task in late:
                task.cancel()
        for error in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(error, Exception):  # which those that were cancelled are not
                raise error
        for client in self.clients:
            await client.close()

    async def operate(self, operation):
        """Does one operation."""
        began, outcome = self.now(), "given up"
        try:
            documents = self.clients[self.client[operation]][self.database].documents
            await documents.find_one({"_id": 1}, comment=operation)
            outcome = "succeeded"
        except PyMongoError:
            outcome = "failed"
        finally:
            self.operations[operation] = {
                "began_ns": began,
                "ended_ns": self.now(),
                "outcome": outcome,
                "commands": self.commands[operation],
            }


async def reach(client):
    """Returns when a server has answered. One that limits requests from the start may reject the first of them."""
    while True:
        try:
            await client.admin.command("ping")
            return
        except PyMongoError as error:
            if not error.has_error_label("SystemOverloadedError"):
                raise
            await asyncio.sleep(0.1)


async def load(schedule):
    """Does what a schedule says."""
    run = Run(schedule)
    await run.load()
    return {"operations": run.operations, "served": run.served, "rejected": run.rejected}


def main():
    modes = {"load": load, "storm": storm}
    if len(sys.argv) != 2 or sys.argv[1] not in modes:
        sys.exit("give load or storm, and a plan as standard input")
    json.dump(asyncio.run(modes[sys.argv[1]](json.load(sys.stdin))), sys.stdout)


main()
