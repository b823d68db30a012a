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

// byDefault are the kinds and how many members they have without a number.
var byDefault = map[Kind]int{Standalone: 1, ReplicaSet: 3, Sharded: 2, LoadBalanced: 2}

// ParseSpec reads a kind and a number of members, such as "sharded:2"; the number is optional.
func ParseSpec(text string) (Spec, error) {
	const most = 50 // as in a replica set
	kind, number, given := strings.Cut(text, ":")
	spec := Spec{Kind: Kind(kind)}
	members, known := byDefault[spec.Kind]
	if given && known && spec.Kind != Standalone {
		var err error
		members, err = strconv.Atoi(number)
		known = err == nil && members >= 1 && members <= most
	} else if given {
		known = false
	}
	if !known {
		return Spec{}, fmt.Errorf(`topology %q: give "standalone", "replicaset:3", "sharded:2" or "loadbalanced:2", `+
			`with 1 to %d members`, text, most)
	}
	spec.Members = members
	return spec, nil
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
