package topology

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

const versionField = "topologyVersion"

// maxAwait bounds what clients ask for, which is their heartbeat's interval.
const maxAwait = 24 * time.Hour

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
	process bson.ObjectID
	counter int64
}

// element is the field of a reply with the version.
func (v topologyVersion) element() bson.E {
	return bson.E{Key: versionField, Value: bson.D{{Key: "processId", Value: v.process}, {Key: "counter", Value: v.counter}}}
}

// await is a hello that is answered when there is news, or when its time is over.
type await struct {
	known topologyVersion
	limit time.Duration
}

// parseAwait returns what a hello asks for, or nil if it wants its answer at once.
func parseAwait(doc bson.Raw) *await {
	milliseconds, isTime := bsondoc.Int64(doc.Lookup("maxAwaitTimeMS"))
	process, isProcess := doc.Lookup(versionField, "processId").ObjectIDOK()
	counter, isCounter := bsondoc.Int64(doc.Lookup(versionField, "counter"))
	if !isTime || !isProcess || !isCounter {
		return nil
	}
	limit := time.Duration(min(milliseconds, maxAwait.Milliseconds())) * time.Millisecond
	return &await{topologyVersion{process, counter}, limit}
}

// wait returns when the member's topologyVersion differs from the known one, or the time is over.
func (a *await) wait(ctx context.Context, m *member) error {
	timer := time.NewTimer(a.limit)
	defer timer.Stop()
	for {
		v := m.view()
		if v.version.process != a.known.process || v.version.counter > a.known.counter {
			return nil
		}
		select {
		case <-v.changed:
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// hello passes a hello on without the fields about the deployment, and rewrites the reply. A client may ask for the reply when
// there is news: the waiting is done here, because only the cluster knows of news.
func (m *member) hello(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	if wanted := parseAwait(req.Document()); wanted != nil {
		if err := wanted.wait(ctx, m); err != nil {
			return err
		}
	}
	return next(ctx, req.With(bsondoc.Rebuild(req.Document(), helloOptions, nil)), func(got *wire.Message) error {
		if !bsondoc.Succeeded(got.Body) {
			return reply(got)
		}
		var err error
		if got.Body, err = m.rewriteHello(m.view(), req, got.Body); err != nil {
			return err
		}
		return reply(got)
	})
}

// rewriteHello returns the backend's reply as this member's.
func (m *member) rewriteHello(v view, req *proxy.Request, reply bson.Raw) (bson.Raw, error) {
	writable, without, kind := "isWritablePrimary", helloPlace, m.cluster.spec.Kind
	if req.Command != "hello" {
		writable = "ismaster"
	}
	if kind != ReplicaSet {
		without = append(slices.Clone(without), "lastWrite")
	}
	place := bson.D{{Key: writable, Value: v.role == RolePrimary || v.role == RoleNone}, v.version.element()}
	if bsondoc.IsTrue(req.Document().Lookup("helloOk")) {
		place = append(place, bson.E{Key: "helloOk", Value: true})
	}
	switch {
	case kind == ReplicaSet:
		place = append(place, m.placeInSet(v)...)
	case m.cluster.spec.Routes():
		place = append(place, bson.E{Key: "msg", Value: "isdbgrid"})
	}
	if len(m.services) > 0 && bsondoc.IsTrue(req.Document().Lookup("loadBalanced")) {
		service := m.services[(req.Client.ID-1)%uint64(len(m.services))]
		place = append(place, bson.E{Key: "serviceId", Value: service})
	}
	return bsondoc.With(bsondoc.Rebuild(reply, without, nil), place...)
}

// placeInSet returns a member's fields about its set.
func (m *member) placeInSet(v view) bson.D {
	var hosts bson.A
	for _, other := range m.cluster.members {
		hosts = append(hosts, other.host)
	}
	place := bson.D{
		{Key: "secondary", Value: v.role == RoleSecondary}, {Key: "setName", Value: SetName},
		{Key: "setVersion", Value: setVersion}, {Key: "hosts", Value: hosts}, {Key: "me", Value: m.host},
		{Key: "tags", Value: bson.D{{Key: "dc", Value: fmt.Sprintf("dc%d", m.index+1)}}},
	}
	if v.primary != "" {
		place = append(place, bson.E{Key: "primary", Value: v.primary})
	}
	if v.role == RolePrimary {
		place = append(place, bson.E{Key: "electionId", Value: v.electionID()})
	}
	return place
}
