package topology

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

const (
	// SetName is the name of every replica set of this package.
	SetName = "lab"

	// electionDelay is the time for which a replica set has no primary after it lost one.
	electionDelay = 500 * time.Millisecond

	setVersion = 1
	noPrimary  = -1
)

// Role is the role of a member of a replica set.
type Role string

// The roles. A member of another kind of deployment has RoleNone.
const (
	RoleNone      Role = ""
	RolePrimary   Role = "primary"
	RoleSecondary Role = "secondary"
	RoleDown      Role = "down"
)

// Cluster is the state of a deployment. It is safe for concurrent use.
type Cluster struct {
	spec    Spec
	members []*member

	mu       sync.Mutex
	term     int64         // counts elections
	primary  int           // noPrimary while there is none
	counter  int64         // of topologyVersion: what members say of themselves always changes for all of them
	changed  chan struct{} // closed at the next change
	election *time.Timer   // nil while none is due
}

// member is the member behind one front.
type member struct {
	cluster *Cluster
	index   int
	host    string
	// services are the targets over which a load balancer spreads connections.
	services []bson.ObjectID

	// The cluster's mutex guards these.
	process     bson.ObjectID // changes with a restart
	down        bool
	electableAt time.Time // not before
}

// New returns a cluster whose fronts listen at hosts. A replica set's first member is primary.
func New(spec Spec, hosts []string) (*Cluster, error) {
	if len(hosts) == 0 || len(hosts) != spec.Fronts() {
		return nil, fmt.Errorf("a cluster of topology %v at %d hosts", spec, len(hosts))
	}
	c := &Cluster{spec: spec, term: 1, changed: make(chan struct{})}
	for i, host := range hosts {
		c.members = append(c.members, &member{cluster: c, index: i, host: host, process: bson.NewObjectID()})
	}
	if spec.Kind == LoadBalanced {
		services := make([]bson.ObjectID, spec.Members)
		for i := range services {
			services[i] = bson.NewObjectID()
		}
		c.members[0].services, c.members[1].services = services[:1], services
	}
	return c, nil
}

// Roles returns the members' present roles.
func (c *Cluster) Roles() []Role {
	c.mu.Lock()
	defer c.mu.Unlock()
	roles := make([]Role, len(c.members))
	for i, m := range c.members {
		roles[i] = m.roleLocked()
	}
	return roles
}

// view is a member's knowledge at a moment.
type view struct {
	role    Role
	term    int64
	primary string // its host; empty while there is none
	version topologyVersion
	changed <-chan struct{} // closed when the view is out of date
}

func (m *member) view() view {
	c := m.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	v := view{role: m.roleLocked(), term: c.term, version: topologyVersion{m.process, c.counter}, changed: c.changed}
	if c.spec.Kind == ReplicaSet && c.primary != noPrimary {
		v.primary = c.members[c.primary].host
	}
	return v
}

func (m *member) roleLocked() Role {
	switch {
	case m.down:
		return RoleDown
	case m.cluster.spec.Kind != ReplicaSet:
		return RoleNone
	case m.cluster.primary == m.index:
		return RolePrimary
	default:
		return RoleSecondary
	}
}

// electionID grows with each election, also when compared as bytes.
func (v view) electionID() bson.ObjectID {
	id := bson.ObjectID{0x7f, 0xff, 0xff, 0xff}
	binary.BigEndian.PutUint64(id[4:], uint64(v.term))
	return id
}

// StepDown makes the primary a secondary that is not elected for that long. Another member is elected after the election delay,
// or the same one after its time if there is no other. Connections stay open.
func (c *Cluster) StepDown(period time.Duration) error {
	if c.spec.Kind != ReplicaSet {
		return fmt.Errorf("a step-down in a topology %v: only a replica set has a primary", c.spec)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.primary == noPrimary {
		return errors.New("there is no primary that could step down")
	}
	c.members[c.primary].electableAt = time.Now().Add(period)
	c.loseLocked()
	return nil
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

// nextLocked returns the member that has been electable, or will be, for the longest time: never the one that stepped down, if
// there is another.
func (c *Cluster) nextLocked() *member {
	var next *member
	for _, m := range c.members {
		if !m.down && (next == nil || m.electableAt.Before(next.electableAt)) {
			next = m
		}
	}
	return next
}

// planLocked sets the time of the next election: the delay from now, or when the first member may be elected.
func (c *Cluster) planLocked() {
	c.cancelLocked()
	if next := c.nextLocked(); next != nil {
		c.election = time.AfterFunc(max(electionDelay, time.Until(next.electableAt)), c.elect)
	}
}

func (c *Cluster) cancelLocked() {
	if c.election != nil {
		c.election.Stop()
		c.election = nil
	}
}

func (c *Cluster) elect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.primary != noPrimary || c.election == nil {
		return // another election came first, or the cluster was closed
	}
	c.election = nil
	winner := c.nextLocked()
	if winner == nil || winner.electableAt.After(time.Now()) {
		c.planLocked() // it went down since
		return
	}
	c.primary = winner.index
	c.term++
	c.changeLocked()
}

// changeLocked notifies all that await a change.
func (c *Cluster) changeLocked() {
	c.counter++
	close(c.changed)
	c.changed = make(chan struct{})
}
