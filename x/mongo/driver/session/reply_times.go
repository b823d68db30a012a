package session

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// A server's reply may hold any type, and the accessors of BSON values panic on any but their own. A field of another type counts
// as missing.

// getClusterTime returns the two parts of the cluster time, or zeros if it has none.
//
//fork:wrap a $clusterTime of another type made it panic
func getClusterTime(clusterTime bson.Raw) (uint32, uint32) {
	if len(clusterTime) == 0 {
		return 0, 0
	}
	if outer, ok := clusterTime.Lookup("$clusterTime").DocumentOK(); ok {
		if _, _, ok := outer.Lookup("clusterTime").TimestampOK(); ok {
			return upstreamGetClusterTime(clusterTime)
		}
	}
	return 0, 0
}

// A response without a token changes nothing.
//
//fork:wrap a token that is no document made it panic
func (c *Client) UpdateRecoveryToken(response bson.Raw) {
	if _, ok := response.Lookup("recoveryToken").DocumentOK(); ok {
		c.upstreamUpdateRecoveryToken(response)
	}
}

// The time is that of the first reply that has one.
//
//fork:wrap a time that is no timestamp made it panic
func (c *Client) UpdateSnapshotTime(response bsoncore.Document) {
	holder := response
	if cursor, ok := response.Lookup("cursor").DocumentOK(); ok {
		holder = cursor
	}
	if _, _, ok := holder.Lookup("atClusterTime").TimestampOK(); ok {
		c.upstreamUpdateSnapshotTime(response)
	}
}
