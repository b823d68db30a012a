package session

import "go.mongodb.org/mongo-driver/v2/bson"

// The time never moves back. The error is ErrSessionEnded once the session has ended. The zero timestamp, which a newly started
// member may send, is ignored: servers refuse it as an afterClusterTime.
//
//fork:wrap a session whose first reply had a zero operationTime could no longer read
func (c *Client) AdvanceOperationTime(opTime *bson.Timestamp) error {
	if !c.Terminated && opTime != nil && opTime.IsZero() {
		return nil
	}
	return c.upstreamAdvanceOperationTime(opTime)
}
