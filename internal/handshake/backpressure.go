//fork:base <v2.7.0

// Package handshake has the fields of hello commands.
package handshake

import "go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

// Backpressure is the field by which a client tells the server that it backs off when the server sheds load (client-backpressure.md,
// "Handshake changes"). The handshake of each connection announces it, be it of a pool or of a monitor; heartbeats do not.
const Backpressure = "backpressure"

// AppendBackpressure adds the field to a hello command. Its value is that of the specification's revision of 2026-03-12; that of
// 2026-08-13 has the string "2".
func AppendBackpressure(dst []byte) []byte {
	return bsoncore.AppendBooleanElement(dst, Backpressure, true)
}
