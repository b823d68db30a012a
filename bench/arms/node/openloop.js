// Puts a load on servers with MongoDB's driver for Node.js.
//
// With the argument load it reads a schedule as JSON and prints what became of its operations as JSON; both are described
// in bench/internal/openloop/schedule.go. With the argument storm it does the same with a plan of storm.js.

import { readFileSync } from 'node:fs';
import { MongoClient, MongoError } from 'mongodb';
import { storm } from './storm.js';

const NANOSECONDS_PER_MILLISECOND = 1e6;

/** A run that is under way. All times are in nanoseconds from the start of the load. */
class Run {
  constructor(schedule) {
    this.schedule = schedule;
    this.served = 0;
    this.rejected = 0;
    this.commands = schedule.due_ns.map(() => 0);
    this.operations = schedule.due_ns.map(() => null);
    this.clients = Array.from({ length: schedule.clients }, () => this.newClient());
  }

  newClient() {
    const client = new MongoClient(this.schedule.uri, { monitorCommands: true });
    // An operation is named by the comment of its commands.
    client.on('commandStarted', ({ command }) => {
      if (command.comment !== undefined) this.commands[command.comment] += 1;
    });
    client.on('commandSucceeded', event => {
      if (this.counts(event)) this.served += 1;
    });
    client.on('commandFailed', event => {
      if (this.counts(event)) this.rejected += 1;
    });
    return client;
  }

  counts({ commandName }) {
    const now = this.now();
    return commandName === 'find' && now >= this.schedule.from_ns && now < this.schedule.until_ns;
  }

  now() {
    return Math.round((performance.now() - this.start) * NANOSECONDS_PER_MILLISECOND);
  }

  /** Starts all operations, each when it is due, and waits for them as long as patience lasts. */
  async load() {
    for (const client of this.clients) await reach(client);
    this.start = performance.now();
    const operations = [];
    for (const [i, due] of this.schedule.due_ns.entries()) {
      const wait = due - this.now();
      if (wait > 0) await sleep(wait / NANOSECONDS_PER_MILLISECOND);
      operations.push(this.operate(i));
    }
    const patience = sleep(this.schedule.patience_ns / NANOSECONDS_PER_MILLISECOND);
    await Promise.race([Promise.all(operations), patience]);
  }

  /** Does one operation. */
  async operate(i) {
    const began = this.now();
    const ended = outcome => {
      this.operations[i] = { began_ns: began, ended_ns: this.now(), outcome, commands: this.commands[i] };
    };
    ended('given up'); // unless there is more to say before patience ends
    try {
      const documents = this.clients[this.schedule.client[i]].db(this.schedule.database).collection('documents');
      await documents.findOne({ _id: 1 }, { comment: i });
      ended('succeeded');
    } catch (error) {
      if (!(error instanceof MongoError)) throw error;
      ended('failed');
    }
  }
}

/** Returns when a server has answered. One that limits requests from the start may reject the first of them. */
async function reach(client) {
  for (;;) {
    try {
      await client.db('admin').command({ ping: 1 });
      return;
    } catch (error) {
      if (!(error instanceof MongoError && error.hasErrorLabel('SystemOverloadedError'))) throw error;
      await sleep(100);
    }
  }
}

function sleep(milliseconds) {
  return new Promise(resolve => setTimeout(resolve, milliseconds));
}

/** Does what a schedule says. */
async function load(schedule) {
  const run = new Run(schedule);
  await run.load();
  const { operations, served, rejected } = run;
  return { operations, served, rejected };
}

const mode = { load, storm }[process.argv[2]];
if (mode === undefined) throw new Error('give load or storm, and a plan as standard input');
const samples = await mode(JSON.parse(readFileSync(0, 'utf8')));
// What was given up is still under way; the process ends all the same.
process.stdout.write(JSON.stringify(samples), () => process.exit());
