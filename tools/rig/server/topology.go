package server

import (
	"fmt"
	"strconv"
	"strings"
)

// Topology is the kind and size of a deployment.
type Topology struct {
	kind topologyKind
	// size is the number of members of a replica set, or of mongos of a sharded cluster.
	size int
}

type topologyKind string

const (
	standalone topologyKind = "standalone"
	replicaSet topologyKind = "replicaset"
	sharded    topologyKind = "sharded"
)

// maxSize is the largest number of voting members of a replica set.
const maxSize = 7

// ParseTopology reads "standalone", "replicaset:N" or "sharded:N", N from 1 to 7.
func ParseTopology(text string) (Topology, error) {
	kind, number, sized := strings.Cut(text, ":")
	t := Topology{kind: topologyKind(kind), size: 1}
	if sized {
		size, err := strconv.Atoi(number)
		if err != nil || size < 1 || size > maxSize {
			return Topology{}, fmt.Errorf("topology %q: %q is no number from 1 to %d", text, number, maxSize)
		}
		t.size = size
	}
	known := t.kind == standalone && !sized || (t.kind == replicaSet || t.kind == sharded) && sized
	if !known {
		return Topology{}, fmt.Errorf("topology %q: want standalone, replicaset:N or sharded:N", text)
	}
	return t, nil
}

// String returns the topology as ParseTopology reads it.
func (t Topology) String() string {
	switch t.kind {
	case "":
		return "as it is"
	case standalone:
		return string(t.kind)
	default:
		return fmt.Sprintf("%s:%d", t.kind, t.size)
	}
}
