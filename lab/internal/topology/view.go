package topology

import (
	"encoding/binary"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
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

const versionField = "topologyVersion"

// topologyVersion tells clients which of two statements of a server is newer.
type topologyVersion struct {
	process bson.ObjectID
	counter int64
}

func (v topologyVersion) document() bsoncore.Document {
	return bsoncore.NewDocumentBuilder().AppendObjectID("processId", v.process).AppendInt64("counter", v.counter).Build()
}

func (v topologyVersion) append(dst []byte) []byte {
	return bsoncore.AppendDocumentElement(dst, versionField, v.document())
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
	v := view{term: c.term, version: topologyVersion{m.process, c.counter}, changed: c.changed}
	if c.spec.Kind == ReplicaSet {
		v.role = m.roleLocked()
		if c.primary != noPrimary {
			v.primary = c.members[c.primary].host
		}
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

// MemberStatus is a member's present status.
type MemberStatus struct {
	Host string `json:"host"`
	Role Role   `json:"role,omitempty"`
}

// Status is the deployment's present status.
type Status struct {
	Topology string         `json:"topology"`
	Term     int64          `json:"term,omitempty"` // counts the elections of a replica set, from 1
	Members  []MemberStatus `json:"members"`
}

// Status returns the deployment's present status.
func (c *Cluster) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Status{Topology: c.spec.String()}
	if c.spec.Kind == ReplicaSet {
		s.Term = c.term
	}
	for _, m := range c.members {
		s.Members = append(s.Members, MemberStatus{Host: m.host, Role: m.roleLocked()})
	}
	return s
}

// Spec returns the cluster's kind and size.
func (c *Cluster) Spec() Spec { return c.spec }
