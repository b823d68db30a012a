package server

import (
	"fmt"
	"strconv"
	"strings"
)

// Kinds of deployments.
const (
	standalone = "standalone"
	replicaSet = "replicaset"
	sharded    = "sharded"
)

// maxSize is the largest number of voting members of a replica set.
const maxSize = 7

// Form is what is started of mongods.
type Form struct {
	kind string
	// size is the number of members of a replica set, or of mongos of a sharded cluster.
	size int
	// TLS makes connections TLS connections; certificates are made here, and URIs name their files.
	TLS bool
	// Users makes clients authenticate as "root", with a random password that URIs contain.
	Users bool
}

// ReplicaSet is the form of a replica set of that many members.
func ReplicaSet(members int) Form { return Form{kind: replicaSet, size: members} }

// ParseForm reads "standalone", "replicaset:N" or "sharded:N", N from 1 to 7.
func ParseForm(text string) (Form, error) {
	kind, number, sized := strings.Cut(text, ":")
	size, err := strconv.Atoi(number)
	switch {
	case kind == standalone && !sized:
		return Form{kind: kind, size: 1}, nil
	case (kind == replicaSet || kind == sharded) && err == nil && size >= 1 && size <= maxSize:
		return Form{kind: kind, size: size}, nil
	}
	return Form{}, fmt.Errorf("topology %q: want standalone, replicaset:N or sharded:N, N from 1 to %d", text, maxSize)
}
