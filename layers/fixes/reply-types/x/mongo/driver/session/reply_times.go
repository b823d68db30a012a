package session

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// A server's reply may hold any type, and the accessors of BSON values panic on any but their own. A field of another type counts
// as missing.

// getClusterTime returns the two parts of the cluster time, or zeros if it has none.
//
//fork:replace a $clusterTime of another type made it panic
func getClusterTime(clusterTime bson.Raw) (uint32, uint32) {
	if len(clusterTime) == 0 { // none is known yet
		return 0, 0
	}
	outer, ok := clusterTime.Lookup("$clusterTime").DocumentOK()
	if !ok {
		return 0, 0
	}
	t, i, _ := outer.Lookup("clusterTime").TimestampOK()
	return t, i
}

// UpdateRecoveryToken sets the token to that of the response, if it has one.
//
//fork:replace a token that is no document made it panic
func (c *Client) UpdateRecoveryToken(response bson.Raw) {
	if c == nil { // an operation without a session
		return
	}
	if token, ok := response.Lookup("recoveryToken").DocumentOK(); ok {
		c.RecoveryToken = token
	}
}

// A time that is no timestamp counts as missing.
//
//fork:wrap a time that is no timestamp made it panic
func (c *Client) UpdateSnapshotTime(response bsoncore.Document) {
	holder := response
	if cursor, ok := response.Lookup("cursor").DocumentOK(); ok { // where find and aggregate have it (snapshot-sessions.md)
		holder = cursor
	}
	if _, _, ok := holder.Lookup("atClusterTime").TimestampOK(); !ok {
		return
	}
	c.upstreamUpdateSnapshotTime(response)
}
