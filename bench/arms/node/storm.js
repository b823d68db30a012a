// Lets many clients of MongoDB's driver for Node.js start at once.
//
// The plan, and the samples that are made of it, are described in bench/internal/openloop/storm.go and stormsamples.go.

import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { MongoClient, MongoError } from 'mongodb';

const NANOSECONDS_PER_MILLISECOND = 1e6;

/** A client, what it meets, and what becomes of its pool. */
class Newcomer {
  constructor(uri) {
    this.errors = this.took = 0;
    this.cleared = this.clearedWithConnections = this.heartbeatsFailed = 0;
    this.established = new Map(); // by connection, the address of the server
    this.client = new MongoClient(uri);
    this.client.on('connectionReady', ({ address, connectionId }) => {
      this.established.set(`${address} ${connectionId}`, address);
    });
    // Of connections that were never ready, too.
    this.client.on('connectionClosed', ({ address, connectionId }) => {
      this.established.delete(`${address} ${connectionId}`);
    });
    this.client.on('connectionPoolCleared', ({ address }) => {
      this.cleared += 1;
      if ([...this.established.values()].includes(address)) this.clearedWithConnections += 1;
    });
    this.client.on('serverHeartbeatFailed', () => {
      this.heartbeatsFailed += 1;
    });
  }

  /** Does an operation until it succeeds. */
  async attempt(pause, start) {
    while (this.took === 0) {
      try {
        await this.client.db('bench').collection('documents').findOne({ _id: 1 });
        this.took = Math.round((performance.now() - start) * NANOSECONDS_PER_MILLISECOND);
      } catch (error) {
        if (!(error instanceof MongoError)) throw error;
        this.errors += 1;
        await sleep(pause);
      }
    }
  }
}

/** Does what the plan says. Clients stay connected until all have succeeded or given up, and the process ends. */
export async function storm(plan) {
  const start = performance.now();
  const newcomers = [];
  const attempts = [];
  for (let i = 0; i < plan.clients; i += 1) {
    const newcomer = new Newcomer(plan.uri);
    newcomers.push(newcomer);
    attempts.push(newcomer.attempt(plan.pause_ns / NANOSECONDS_PER_MILLISECOND, start));
    await nextTurn(); // so that the first need not wait until there are all
  }
  const left = plan.limit_ns / NANOSECONDS_PER_MILLISECOND - (performance.now() - start);
  await Promise.race([Promise.all(attempts), sleep(Math.max(0, left))]);
  const sum = of => newcomers.reduce((total, newcomer) => total + of(newcomer), 0);
  return {
    newcomers: newcomers.map(({ errors, took }) => ({ errors, took_ns: took })),
    cleared: sum(newcomer => newcomer.cleared),
    cleared_with_connections: sum(newcomer => newcomer.clearedWithConnections),
    heartbeats_failed: sum(newcomer => newcomer.heartbeatsFailed)
  };
}
