// Package topology makes one server look like a deployment: a standalone, a replica set, the routers of a sharded cluster, or a
// load balancer before such routers. Its handlers rewrite what tells clients where they are, and refuse what a member of such a
// deployment would refuse.
package topology

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is a kind of deployment.
type Kind string

// The kinds of deployments.
const (
	Standalone   Kind = "standalone"
	ReplicaSet   Kind = "replicaset"
	Sharded      Kind = "sharded"
	LoadBalanced Kind = "loadbalanced"
)

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
