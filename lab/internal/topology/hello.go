package topology

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
)

const (
	setVersion   = 1
	versionField = "topologyVersion"
)

// The fields of a hello or its reply about the place of a server in its deployment. The rest of a hello is between the client and
// the backend: authentication, sizes, versions, the connection's number.
var (
	helloOptions = []string{versionField, "maxAwaitTimeMS", "loadBalanced"}
	helloPlace   = []string{
		"helloOk", "ismaster", "isWritablePrimary", "secondary", "passive", "hidden", "arbiterOnly", "isreplicaset",
		"setName", "setVersion", "hosts", "passives", "arbiters", "primary", "me", "electionId", "tags", "secondaryDelaySecs",
		versionField, "msg", "serviceId",
	}
)

// topologyVersion tells clients which of two statements of a server is newer.
type topologyVersion struct {
	Process bson.ObjectID `bson:"processId"`
	Counter int64         `bson:"counter"`
}

// hello passes a hello on without the fields about the deployment, and rewrites the reply. If the client wants the reply only when there is
// news, the hello waits here, because only the cluster knows of news.
func (m *member) hello(ctx context.Context, req *proxy.Request, next proxy.Next) (bson.Raw, error) {
	if err := m.await(ctx, req.Document()); err != nil {
		return nil, err
	}
	reply, err := next(ctx, req.With(bsondoc.Rebuild(req.Document(), helloOptions, nil)))
	if err != nil || !bsondoc.Succeeded(reply) {
		return reply, err
	}
	return m.rewriteHello(req, reply), nil
}

// await returns at once, unless the hello says which state its client knows and for how long it waits. Then await returns when there is
// news, or when that time is over.
func (m *member) await(ctx context.Context, hello bson.Raw) error {
	var known topologyVersion
	milliseconds, waits := hello.Lookup("maxAwaitTimeMS").AsInt64OK()
	if version, ok := hello.Lookup(versionField).DocumentOK(); !waits || !ok || bson.Unmarshal(version, &known) != nil {
		return nil
	}
	waiting, stop := context.WithTimeout(ctx, time.Duration(milliseconds)*time.Millisecond)
	defer stop()
	for v := m.view(); v.version.Process == known.Process && v.version.Counter <= known.Counter; v = m.view() {
		select {
		case <-v.changed:
		case <-waiting.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// rewriteHello returns the backend's reply as this member's.
func (m *member) rewriteHello(req *proxy.Request, reply bson.Raw) bson.Raw {
	v, c, without := m.view(), m.cluster, helloPlace
	writable := "isWritablePrimary"
	if req.Command != "hello" {
		writable = "ismaster"
	}
	place := bsondoc.D(writable, c.spec.Kind != ReplicaSet || v.primary == m, versionField, v.version)
	if bsondoc.IsTrue(req.Document().Lookup("helloOk")) {
		place = append(place, bsondoc.D("helloOk", true)...)
	}
	if c.spec.Kind == ReplicaSet {
		place = append(place, m.placeInSet(v)...)
	} else {
		without = append(slices.Clone(without), "lastWrite")
	}
	if c.spec.Routes() {
		place = append(place, bsondoc.D("msg", "isdbgrid")...)
	}
	if c.spec.Kind == LoadBalanced && bsondoc.IsTrue(req.Document().Lookup("loadBalanced")) {
		place = append(place, bsondoc.D("serviceId", m.service(req.Client.ID))...)
	}
	return bsondoc.Rebuild(reply, without, bsondoc.Marshal(place))
}

// service returns the service to which a connection leads: that of the first load balancer is always the same, the other one spreads
// connections over all.
func (m *member) service(connection uint64) bson.ObjectID {
	n := (connection - 1) % uint64(m.cluster.spec.Members)
	if m.index == 0 {
		n = 0
	}
	return bson.ObjectID{1, byte(n)}
}

// placeInSet returns a member's fields about its set.
func (m *member) placeInSet(v view) bson.D {
	var hosts bson.A
	for _, other := range m.cluster.members {
		hosts = append(hosts, other.host)
	}
	place := bsondoc.D("secondary", v.primary != m, "setName", SetName, "setVersion", setVersion, "hosts", hosts, "me", m.host,
		"tags", bsondoc.D("dc", fmt.Sprintf("dc%d", m.index+1)))
	if v.primary != nil {
		place = append(place, bsondoc.D("primary", v.primary.host)...)
	}
	if v.primary == m {
		place = append(place, bsondoc.D("electionId", electionID(v.term))...)
	}
	return place
}

// electionID grows with each election, also when compared as bytes.
func electionID(term int64) bson.ObjectID {
	id := bson.ObjectID{0x7f, 0xff, 0xff, 0xff}
	binary.BigEndian.PutUint64(id[4:], uint64(term))
	return id
}
