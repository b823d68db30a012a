package session

import "go.mongodb.org/mongo-driver/v2/bson"

// AdvanceOperationTime moves the session's operation time forward, never back. It returns ErrSessionEnded once the session has
// ended. The zero timestamp, which a member may reply with that has just started, is no time to wait for: servers refuse it as an
// afterClusterTime.
//
//fork:wrap a session whose first reply has a zero operationTime could not read any more
func (c *Client) AdvanceOperationTime(opTime *bson.Timestamp) error {
	if !c.Terminated && opTime != nil && opTime.IsZero() {
		return nil
	}
	return c.upstreamAdvanceOperationTime(opTime)
}
