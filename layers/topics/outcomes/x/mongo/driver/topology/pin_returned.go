package topology

import "errors"

// errPinReturned is that of a cursor in the reply to an earlier attempt, whose connection was returned before the retry. Behind a load
// balancer nobody can read the cursor any more.
var errPinReturned = errors.New("attempted to pin a connection for a cursor, but the connection has already been returned to the pool")

//fork:wrap a connection that was returned made it panic
func (c *Connection) PinToCursor() error {
	if !c.Alive() {
		return errPinReturned
	}
	return c.upstreamPinToCursor()
}
