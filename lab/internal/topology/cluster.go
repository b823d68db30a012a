// Package topology makes one server look like a deployment: a standalone, a replica set, the routers of a sharded cluster, or a
// load balancer before such routers. Its handlers rewrite what tells clients where they are, and refuse what a member of such a
// deployment would refuse.
package topology

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

const (
	SetName = "lab" // the name of every replica set of this package

	electionDelay = 500 * time.Millisecond // the time for which a replica set has no primary after it lost one
)

// Cluster is the state of a deployment. It is safe for concurrent use.
type Cluster struct {
	spec    Spec
	members []*member

	mu       sync.Mutex
	term     int64         // counts elections
	primary  *member       // of a replica set; nil while there is none
	former   int           // the last primary, which is elected last
	rests    time.Time     // until when it is not elected at all
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
	process bson.ObjectID // changes with a restart
	down    bool
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

// StepDown makes the primary, if there is one, a secondary. After the election delay another member is elected; if there is none, the same
// one is elected after that period. Connections stay open.
func (c *Cluster) StepDown(period time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.primary != nil {
		c.former, c.rests = c.primary.index, time.Now().Add(period)
		c.changeLocked(nil)
	}
}

// Down takes a member out. If it was primary, another is elected.
func (c *Cluster) Down(front int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members[front].down = true
	if c.primary == c.members[front] {
		c.former, c.rests = front, time.Time{}
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

// changeLocked notifies all that await a change. A replica set without a primary elects one after the delay.
func (c *Cluster) changeLocked(primary *member) {
	c.primary = primary
	c.counter++
	close(c.changed)
	c.changed = make(chan struct{})
	if c.election != nil {
		c.election.Stop()
	}
	if c.primary == nil && c.spec.Kind == ReplicaSet {
		c.election = time.AfterFunc(electionDelay, c.elect)
	}
}

// elect elects the next member after the last primary.
func (c *Cluster) elect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.members {
		m := c.members[(c.former+1+i)%len(c.members)]
		if rest := time.Until(c.rests); c.primary == nil && !m.down && m.index == c.former && rest > 0 {
			c.election = time.AfterFunc(rest, c.elect)
		} else if c.primary == nil && !m.down {
			c.term++
			c.changeLocked(m)
		}
	}
}

// Kind is a kind of deployment.
type Kind string

// The kinds of deployments.
const Standalone, ReplicaSet, Sharded, LoadBalanced Kind = "standalone", "replicaset", "sharded", "loadbalanced" //nolint:revive

// Spec describes a deployment.
type Spec struct {
	Kind Kind
	// Members counts the members of a replica set, the routers of a sharded cluster, or the services behind a load balancer.
	Members int
}

// ParseSpec reads a kind and, for all but a standalone, a number of members, such as "sharded:2".
func ParseSpec(text string) (Spec, error) {
	const most = 50 // as in a replica set
	kind, number, numbered := strings.Cut(text, ":")
	members, err := strconv.Atoi(number)
	switch kind := Kind(kind); kind {
	case Standalone:
		if !numbered {
			return Spec{kind, 1}, nil
		}
	case ReplicaSet, Sharded, LoadBalanced:
		if err == nil && members >= 1 && members <= most {
			return Spec{kind, members}, nil
		}
	}
	return Spec{}, fmt.Errorf(`topology %q: give "standalone", "replicaset:3", "sharded:2" or "loadbalanced:2", with 1 to %d members`,
		text, most)
}

// Fronts returns the number of addresses that clients may connect to.
func (s Spec) Fronts() int {
	if s.Kind == LoadBalanced {
		return 2 // one for a single service, one for all
	}
	return s.Members
}

// Routes reports whether clients see routers: of a sharded cluster, or behind a load balancer.
func (s Spec) Routes() bool { return s.Kind == Sharded || s.Kind == LoadBalanced }

// URIs returns the connection strings for the fronts at hosts: one, or one for each front of a load balancer.
func (s Spec) URIs(hosts []string) []string {
	switch all := strings.Join(hosts, ","); s.Kind {
	case ReplicaSet:
		return []string{"mongodb://" + all + "/?replicaSet=" + SetName}
	case LoadBalanced:
		return []string{"mongodb://" + hosts[0] + "/?loadBalanced=true", "mongodb://" + hosts[1] + "/?loadBalanced=true"}
	default:
		return []string{"mongodb://" + all + "/"}
	}
}
