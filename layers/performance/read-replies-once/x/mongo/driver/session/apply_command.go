package session

import "go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"

// ApplyCommand changes the state of the session's transaction when a command is about to be sent to the server.
//
//fork:wrap the description was copied to the heap for each command, and only the first of a transaction may need it
func (c *Client) ApplyCommand(desc description.Server) error {
	if c.TransactionState == None || c.TransactionState == InProgress { // in which a command changes nothing
		return nil
	}
	return c.upstreamApplyCommand(desc)
}
