// Package canned is a MongoDB server for measuring drivers: it answers each command with a reply that it has made
// beforehand, at hardly any cost of its own. It says that it is the primary of a replica set, knows no data, and fails
// commands that it has no reply for.
package canned
