package topology

// OIDCTokenGenID returns the number of the OIDC token that the connection is authenticated with, and 0 if that is not known.
//
//fork:replace each checkout forgot the number, so that each connection with an expired token made the others' new token invalid
func (c *Connection) OIDCTokenGenID() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.connection == nil {
		return 0
	}
	return c.connection.OIDCTokenGenID()
}

// SetOIDCTokenGenID sets the number of the OIDC token that the connection is authenticated with, for all who check it out.
//
//fork:replace each checkout forgot the number
func (c *Connection) SetOIDCTokenGenID(generation uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.connection != nil {
		c.connection.SetOIDCTokenGenID(generation)
	}
}
