package mongod

import (
	"fmt"
	"time"
)

const (
	defaultMembers    = 3
	maxMembers        = 7
	defaultReplicaSet = "rig"
	defaultTimeout    = 30 * time.Second
)

// Options configures Start. Binary and Dir are required.
type Options struct {
	// Binary is the path of a mongod.
	Binary string
	// Dir is the folder below which a new one is made for data and logs. Folders there whose owners were killed are removed.
	Dir string
	// Members is the number of members of the replica set, from 1 to 7. The default is 3.
	Members int
	// Standalone starts one mongod without a replica set.
	Standalone bool
	// ReplicaSet is the name of the replica set. The default is "rig".
	ReplicaSet string
	// TLS makes every connection a TLS connection. The certificates are made here, and URIs name their files.
	TLS bool
	// Users makes clients authenticate as "root", with a random password that URIs contain.
	Users bool
	// ConfigServer makes the replica set the config servers of a sharded cluster; Arguments have to say so, too.
	ConfigServer bool
	// Parameters are server parameters to set, besides enableTestCommands.
	Parameters map[string]string
	// Arguments are appended to each mongod's command line.
	Arguments []string
	// Ports are the members' ports. The default is to find free ones.
	Ports []int
	// Host returns the name in the replica set's configuration of member number n, counted from 0, at an address; the default is
	// the address. It is called in the members' order once all of them listen, before they form a replica set.
	Host func(member int, address string) (string, error)
	// StartTimeout limits the time until there is a primary and every other member is a secondary. The default is 30 seconds.
	StartTimeout time.Duration
}

func (o Options) withDefaults() (Options, error) {
	if o.Standalone {
		o.Members = 1
	}
	if o.Members == 0 {
		o.Members = defaultMembers
	}
	if o.ReplicaSet == "" {
		o.ReplicaSet = defaultReplicaSet
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = defaultTimeout
	}
	switch {
	case o.Members < 1 || o.Members > maxMembers:
		return o, fmt.Errorf("a replica set of %d members; ask for 1 to %d", o.Members, maxMembers)
	case len(o.Ports) != 0 && len(o.Ports) != o.Members:
		return o, fmt.Errorf("%d ports for %d members; name one for each, or none", len(o.Ports), o.Members)
	}
	return o, nil
}
