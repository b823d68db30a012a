package virtual

import (
	"net"
	"time"
)

// Delivery is what a client gets of a message, or after it. Nil closes the connection.
type Delivery struct {
	After time.Duration // besides the latency
	Data  []byte
}

// Tamper sees each message that a server writes to a connection, and returns what the client gets instead. Several goroutines call it at
// the same time.
type Tamper func(server net.Conn, message []byte) []Delivery

// Tamper sets what happens to the servers' messages; nil delivers them.
func (c *Cluster) Tamper(tamper Tamper) { c.network.tamper.Store(&tamper) }

// Open returns how many connections clients have not closed.
func (c *Cluster) Open() (n int) {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	for _, h := range c.network.hosts {
		for _, end := range h.conns {
			if end.remote == h.address {
				n++
			}
		}
	}
	return n
}

// tampered returns what the client gets instead of a message that this end of the connection writes, or false if it gets the message.
func (c *conn) tampered(message []byte) ([]Delivery, bool) {
	tamper := c.host.tamper.Load()
	if tamper == nil || *tamper == nil || c.local != c.host.address {
		return nil, false
	}
	return (*tamper)(c, message), true
}

// deliver sends the parts of a message.
func (c *conn) deliver(parts []Delivery) {
	for _, part := range parts {
		if part.Data == nil {
			time.AfterFunc(part.After, func() { _ = c.Close() })
			continue
		}
		c.host.mu.Lock()
		c.sendAfter(part.After, part.Data)
		c.host.mu.Unlock()
	}
}
