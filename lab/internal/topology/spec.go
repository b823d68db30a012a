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
	// Members is a real replica set, with a front before each member; the others are simulated on one server.
	Members Kind = "members"
)

const (
	// MaxMembers is the largest number of members, as in a replica set.
	MaxMembers = 50

	usage = `give "standalone", "replicaset:3", "sharded:2" or "loadbalanced", with any number of members, or "members"`
)

// Spec describes a deployment.
type Spec struct {
	Kind Kind
	// Members counts the members of a replica set, the routers of a sharded cluster, or the services behind a load balancer. For
	// a real replica set 0 means to ask the set.
	Members int
}

// ParseSpec reads a Spec in the form of String; the number of members is optional.
func ParseSpec(text string) (Spec, error) {
	kind, number, given := strings.Cut(text, ":")
	spec := Spec{Kind: Kind(kind)}
	switch spec.Kind {
	case Standalone:
		spec.Members = 1
	case ReplicaSet:
		spec.Members = 3
	case Sharded, LoadBalanced:
		spec.Members = 2
	}
	if given {
		members, err := strconv.Atoi(number)
		if err != nil {
			return Spec{}, fmt.Errorf("topology %q: %q is not a number; %s", text, number, usage)
		}
		spec.Members = members
	}
	if err := spec.check(); err != nil {
		return Spec{}, fmt.Errorf("topology %q: %w", text, err)
	}
	return spec, nil
}

func (s Spec) check() error {
	least := 1
	switch s.Kind {
	case Standalone, ReplicaSet, Sharded, LoadBalanced:
	case Members:
		least = 0
	default:
		return fmt.Errorf("the kind is unknown; %s", usage)
	}
	if s.Members < least || s.Members > MaxMembers {
		return fmt.Errorf("%d members are not between %d and %d", s.Members, least, MaxMembers)
	}
	if s.Kind == Standalone && s.Members != 1 {
		return fmt.Errorf("a standalone has one member")
	}
	return nil
}

// String returns the kind and the number of members, such as "replicaset:3".
func (s Spec) String() string {
	if s.Kind == Standalone || s.Members == 0 {
		return string(s.Kind)
	}
	return fmt.Sprintf("%s:%d", s.Kind, s.Members)
}

// Fronts returns the number of addresses that clients may connect to.
func (s Spec) Fronts() int {
	if s.Kind == LoadBalanced {
		return 2 // one for a single service, one for all
	}
	return s.Members
}

// Endpoint is a connection string for applications.
type Endpoint struct {
	// Name is the environment variable under which the driver's tests expect it.
	Name string
	URI  string
}

// Endpoints returns the connection strings for the fronts at hosts, in the order of the fronts. The lab's own replica set has the
// name SetName.
func (s Spec) Endpoints(hosts []string, setName string, tls bool) []Endpoint {
	switch s.Kind {
	case ReplicaSet, Members:
		return []Endpoint{{Name: "MONGODB_URI", URI: endpoint(hosts, tls, "replicaSet="+setName)}}
	case LoadBalanced:
		return []Endpoint{
			{Name: "SINGLE_MONGOS_LB_URI", URI: endpoint(hosts[:1], tls, "loadBalanced=true")},
			{Name: "MULTI_MONGOS_LB_URI", URI: endpoint(hosts[1:], tls, "loadBalanced=true")},
		}
	default:
		return []Endpoint{{Name: "MONGODB_URI", URI: endpoint(hosts, tls)}}
	}
}

func endpoint(hosts []string, tls bool, options ...string) string {
	if tls {
		options = append(options, "tls=true")
	}
	uri := "mongodb://" + strings.Join(hosts, ",") + "/"
	if len(options) > 0 {
		uri += "?" + strings.Join(options, "&")
	}
	return uri
}
