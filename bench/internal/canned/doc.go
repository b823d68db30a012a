// Package canned is a MongoDB server for measuring drivers: it answers each command with a prepared reply, at hardly any cost. It
// claims to be the primary of a replica set, has no data, and fails commands for which it has no reply.
package canned
