package topology

import (
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

const (
	// SetName is the name of every replica set of this package.
	SetName = "lab"

	setVersion = 1
	noPrimary  = -1
)

// Options are the options of a cluster. The zero value is usable.
type Options struct {
	// ElectionDelay is the time for which a replica set has no primary after it lost one.
	ElectionDelay time.Duration
	// Tags are the tags of the replica set's members, in their order. Members without tags have {dc: "dc<number>"}.
	Tags []map[string]string
}

// Cluster is the state of a deployment. It is safe for concurrent use.
type Cluster struct {
	spec    Spec
	options Options
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
	tags    map[string]string
	// services are the targets over which a load balancer spreads connections.
	services []bson.ObjectID

	// The cluster's mutex guards these.
	process     bson.ObjectID // changes with a restart
	down        bool
	electableAt time.Time // not before
}

// New returns a cluster whose fronts listen at hosts. A replica set's first member is primary.
func New(spec Spec, hosts []string, options Options) (*Cluster, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	if spec.Kind == Members {
		return nil, fmt.Errorf("topology %v: it is real, and not made of one server", spec)
	}
	if len(hosts) != spec.Fronts() {
		return nil, fmt.Errorf("topology %v: %d hosts for %d fronts", spec, len(hosts), spec.Fronts())
	}
	if len(options.Tags) > len(hosts) {
		return nil, fmt.Errorf("topology %v: tags for %d members", spec, len(options.Tags))
	}
	c := &Cluster{spec: spec, options: options, term: 1, changed: make(chan struct{})}
	for i, host := range hosts {
		m := &member{cluster: c, index: i, host: host, process: bson.NewObjectID()}
		m.tags = map[string]string{"dc": fmt.Sprintf("dc%d", i+1)}
		if i < len(options.Tags) {
			m.tags = options.Tags[i]
		}
		c.members = append(c.members, m)
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
