package topology

import (
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// ErrNoPrimary is returned for a step-down without a primary.
var ErrNoPrimary = errors.New("there is no primary that could step down")

// StepDown makes the primary a secondary that is not elected for that long. Another member is elected after the election delay,
// or the same one after its time if there is no other. Connections stay open.
func (c *Cluster) StepDown(period time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spec.Kind != ReplicaSet {
		return fmt.Errorf("a step-down in a topology %v: only a replica set has a primary", c.spec)
	}
	return c.stepDownLocked(c.primary, period)
}

// stepDownMember is StepDown for a given member.
func (c *Cluster) stepDownMember(front int, period time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stepDownLocked(front, period)
}

func (c *Cluster) stepDownLocked(front int, period time.Duration) error {
	if front == noPrimary || c.primary != front {
		return ErrNoPrimary
	}
	c.members[front].electableAt = time.Now().Add(period)
	c.loseLocked()
	return nil
}

// Freeze keeps a member from being elected for that long; 0 makes it electable again.
func (c *Cluster) Freeze(front int, period time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members[front].electableAt = time.Now().Add(period)
	if c.primary == noPrimary {
		c.planLocked()
	}
}

// Down takes a member out. If it was primary, another is elected.
func (c *Cluster) Down(front int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members[front].down = true
	if c.spec.Kind == ReplicaSet && c.primary == front {
		c.loseLocked()
	}
}

// Up brings back a member that was down, as a new process.
func (c *Cluster) Up(front int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members[front].down = false
	c.members[front].process = bson.NewObjectID()
	c.changeLocked()
	if c.spec.Kind == ReplicaSet && c.primary == noPrimary {
		c.planLocked()
	}
}

// Close stops the timers.
func (c *Cluster) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancelLocked()
}

func (c *Cluster) loseLocked() {
	c.primary = noPrimary
	c.changeLocked()
	c.planLocked()
}

// planLocked sets the time of the next election: the delay from now, or when the first member may be elected.
func (c *Cluster) planLocked() {
	c.cancelLocked()
	now := time.Now()
	at, anyone := time.Time{}, false
	for _, m := range c.members {
		if !m.down && (!anyone || m.electableAt.Before(at)) {
			at, anyone = m.electableAt, true
		}
	}
	if anyone {
		c.election = time.AfterFunc(max(c.options.ElectionDelay, at.Sub(now)), c.elect)
	}
}

func (c *Cluster) cancelLocked() {
	if c.election != nil {
		c.election.Stop()
		c.election = nil
	}
}

// elect makes a member primary: the one that has been electable for the longest time, which is never the one that stepped down.
func (c *Cluster) elect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.primary != noPrimary || c.election == nil {
		return // another election came first, or the cluster was closed
	}
	c.election = nil
	winner := noPrimary
	now := time.Now()
	for i, m := range c.members {
		if m.down || m.electableAt.After(now) {
			continue
		}
		if winner == noPrimary || m.electableAt.Before(c.members[winner].electableAt) {
			winner = i
		}
	}
	if winner == noPrimary {
		c.planLocked() // it went down since
		return
	}
	c.primary = winner
	c.term++
	c.changeLocked()
}

// changeLocked notifies all that await a change.
func (c *Cluster) changeLocked() {
	c.counter++
	close(c.changed)
	c.changed = make(chan struct{})
}
