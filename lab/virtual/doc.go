// Package virtual runs the driver in virtual time: a network and a deployment in memory, for bubbles of testing/synctest. Time is
// fake and exact, so that a minute takes milliseconds and the machine's load does not count.
//
// The servers are the lab's: its topologies, limits, errors and labels, before a small database in memory with sessions,
// transactions, retryable writes, cursors and change streams. TestRejectedInsert is an example.
//
// What else can happen: SetLink (silence, refused connections, a proxy that accepts and closes), Reset, Stop, Restart, StepDown,
// SetCapacity, LimitRequests, LimitConnections.
//
// The test runs with the driver that go.mod requires, or any other that a go.work puts in its place; see WITH in the Makefile. Options
// that a driver lacks, given in the connection string, are ignored by it.
package virtual
