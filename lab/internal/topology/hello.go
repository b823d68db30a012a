package topology

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

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

func (v topologyVersion) document() bsoncore.Document {
	return bsoncore.NewDocumentBuilder().AppendObjectID("processId", v.process).AppendInt64("counter", v.counter).Build()
}

func (v topologyVersion) append(dst []byte) []byte {
	return bsoncore.AppendDocumentElement(dst, versionField, v.document())
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
		if bsondoc.Succeeded(got.Body) {
			got.Body = m.rewriteHello(m.view(), req, got.Body)
		}
		return reply(got)
	})
}

// rewriteHello returns the backend's reply as this member's.
func (m *member) rewriteHello(v view, req *proxy.Request, reply bson.Raw) bson.Raw {
	writable := "isWritablePrimary"
	if req.Command != "hello" {
		writable = "ismaster"
	}
	without := slices.Clone(helloPlace)
	if m.cluster.spec.Kind != ReplicaSet {
		without = append(without, "lastWrite")
	}
	return bsondoc.Rebuild(reply, without, func(dst []byte) []byte {
		if bsondoc.IsTrue(req.Document().Lookup("helloOk")) {
			dst = bsoncore.AppendBooleanElement(dst, "helloOk", true)
		}
		dst = bsoncore.AppendBooleanElement(dst, writable, v.role == RolePrimary || v.role == RoleNone)
		switch {
		case m.cluster.spec.Kind == ReplicaSet:
			dst = m.appendSet(dst, v)
		case m.cluster.spec.Routes():
			dst = bsoncore.AppendStringElement(dst, "msg", "isdbgrid")
		}
		if len(m.services) > 0 && bsondoc.IsTrue(req.Document().Lookup("loadBalanced")) {
			service := m.services[(req.Client.ID-1)%uint64(len(m.services))]
			dst = bsoncore.AppendObjectIDElement(dst, "serviceId", service)
		}
		return v.version.append(dst)
	})
}

// appendSet adds a member's fields about its set.
func (m *member) appendSet(dst []byte, v view) []byte {
	dst = bsoncore.AppendBooleanElement(dst, "secondary", v.role == RoleSecondary)
	dst = bsoncore.AppendStringElement(dst, "setName", SetName)
	dst = bsoncore.AppendInt32Element(dst, "setVersion", setVersion)
	hosts := bsoncore.NewArrayBuilder()
	for _, other := range m.cluster.members {
		hosts.AppendString(other.host)
	}
	dst = bsoncore.AppendArrayElement(dst, "hosts", hosts.Build())
	if v.primary != "" {
		dst = bsoncore.AppendStringElement(dst, "primary", v.primary)
	}
	dst = bsoncore.AppendStringElement(dst, "me", m.host)
	if v.role == RolePrimary {
		dst = bsoncore.AppendObjectIDElement(dst, "electionId", v.electionID())
	}
	tags := bsoncore.NewDocumentBuilder().AppendString("dc", fmt.Sprintf("dc%d", m.index+1))
	return bsoncore.AppendDocumentElement(dst, "tags", tags.Build())
}
