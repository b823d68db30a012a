package topology

import (
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

const (
	// SetName is the name of every replica set of this package.
	SetName = "lab"

	// electionDelay is the time for which a replica set has no primary after it lost one.
	electionDelay = 500 * time.Millisecond
)

// Cluster is the state of a deployment. It is safe for concurrent use.
type Cluster struct {
	spec    Spec
	members []*member

	mu       sync.Mutex
	term     int64         // counts elections
	primary  *member       // of a replica set; nil while there is none
	counter  int64         // of topologyVersion: what members say of themselves always changes for all of them
	changed  chan struct{} // closed at the next change
	election *time.Timer   // nil while none is due
}

// member is the member behind one front.
type member struct {
	cluster *Cluster
	index   int
	host    string

	// The cluster's mutex guards these.
	process     bson.ObjectID // changes with a restart
	down        bool
	electableAt time.Time // not before
}

// New returns a cluster whose fronts listen at hosts. A replica set's first member is primary.
func New(spec Spec, hosts []string) *Cluster {
	c := &Cluster{spec: spec, term: 1, changed: make(chan struct{})}
	for i, host := range hosts {
		c.members = append(c.members, &member{cluster: c, index: i, host: host, process: bson.NewObjectID()})
	}
	if spec.Kind == ReplicaSet {
		c.primary = c.members[0]
	}
	return c
}

// view is what a member knows at a moment.
type view struct {
	term    int64
	primary *member
	version topologyVersion
	changed <-chan struct{} // closed when the view is out of date
}

func (m *member) view() view {
	c := m.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	return view{c.term, c.primary, topologyVersion{m.process, c.counter}, c.changed}
}

// StepDown makes the primary, if there is one, a secondary that cannot be elected for that long. After the election delay another member is
// elected; if there is none, the same one is elected when its time is over. Connections stay open.
func (c *Cluster) StepDown(period time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.primary != nil {
		c.primary.electableAt = time.Now().Add(period)
		c.changeLocked(nil)
	}
}

// Down takes a member out. If it was primary, another is elected.
func (c *Cluster) Down(front int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members[front].down = true
	if c.primary == c.members[front] {
		c.changeLocked(nil)
	}
}

// Up brings back a member that was down, as a new process.
func (c *Cluster) Up(front int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members[front].down = false
	c.members[front].process = bson.NewObjectID()
	c.changeLocked(c.primary)
}

// nextLocked returns the member that has been electable for the longest time, or will be first. It returns the one that stepped down only
// if there is no other.
func (c *Cluster) nextLocked() *member {
	var next *member
	for _, m := range c.members {
		if !m.down && (next == nil || m.electableAt.Before(next.electableAt)) {
			next = m
		}
	}
	return next
}

// planLocked sets the time of the next election if a replica set has no primary: after the delay, or when the first member can be elected.
func (c *Cluster) planLocked() {
	if c.election != nil {
		c.election.Stop()
	}
	if next := c.nextLocked(); next != nil && c.primary == nil && c.spec.Kind == ReplicaSet {
		c.election = time.AfterFunc(max(electionDelay, time.Until(next.electableAt)), c.elect)
	}
}

func (c *Cluster) elect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.primary != nil {
		return // another election came first
	}
	winner := c.nextLocked()
	if winner == nil || winner.electableAt.After(time.Now()) {
		c.planLocked() // it went down since
		return
	}
	c.term++
	c.changeLocked(winner)
}

// changeLocked notifies all that await a change.
func (c *Cluster) changeLocked(primary *member) {
	c.primary = primary
	c.counter++
	close(c.changed)
	c.changed = make(chan struct{})
	c.planLocked()
}
