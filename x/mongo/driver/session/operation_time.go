package session

import "go.mongodb.org/mongo-driver/v2/bson"

// AdvanceOperationTime moves the session's operation time forward, never back. It returns ErrSessionEnded once the session has
// ended. It ignores the zero timestamp, which a newly started member may send: servers refuse it as an afterClusterTime.
//
//fork:wrap a session whose first reply had a zero operationTime could no longer read
func (c *Client) AdvanceOperationTime(opTime *bson.Timestamp) error {
	if !c.Terminated && opTime != nil && opTime.IsZero() {
		return nil
	}
	return c.upstreamAdvanceOperationTime(opTime)
}
