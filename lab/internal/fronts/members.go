package fronts

import (
	"context"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/topology"
	"mongofork/lab/internal/wire"
	"mongofork/tools/rig/server"
)

const versionField = "topologyVersion"

// StartMembers starts a real replica set, for Config.Members. Its files are in a new folder below dir; the caller must stop it.
func StartMembers(ctx context.Context, mongod, dir string, count int) (*server.Deployment, error) {
	return server.Start(ctx, server.Options{Binary: mongod, Dir: dir, Members: count, ReplicaSet: topology.SetName})
}

// memberHandler makes a front a real member: clients see the fronts' addresses instead of the members'.
type memberHandler struct {
	names   map[string]string             // of fronts by those of members
	version atomic.Pointer[bson.RawValue] // what the member last said of the version of its state
}

// Handle implements proxy.Handler. The member answers hellos itself, and waits for changes if asked to.
func (h *memberHandler) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	return next(ctx, req, func(got *wire.Message) (err error) {
		if !proxy.IsHello(req.Command) {
			h.addVersion(got)
			return reply(got)
		}
		if got.Body, err = rename(got.Body, h.names); err != nil {
			return err
		}
		if version, err := got.Body.LookupErr(versionField); err == nil {
			h.version.Store(&version)
		}
		return reply(got)
	})
}

// addVersion adds the member's topologyVersion to the fail point's error, as the member does with such errors: clients use it to
// see whether the error is news.
func (h *memberHandler) addVersion(got *wire.Message) {
	version := h.version.Load()
	if version == nil || bsondoc.Has(got.Body, versionField) || !topology.SaysNotPrimary(got.Body) {
		return
	}
	got.Body = bsondoc.Rebuild(got.Body, nil, func(dst []byte) []byte {
		return bsoncore.AppendDocumentElement(dst, versionField, version.Value)
	})
}

// rename returns the hello with every string that is a name replaced, at its top and in lists.
func rename(hello bson.Raw, names map[string]string) (bson.Raw, error) {
	var fields bson.D
	if err := bson.Unmarshal(hello, &fields); err != nil {
		return nil, err
	}
	renamed := func(value any) any {
		if text, ok := value.(string); ok && names[text] != "" {
			return names[text]
		}
		return value
	}
	for i := range fields {
		fields[i].Value = renamed(fields[i].Value)
		list, _ := fields[i].Value.(bson.A)
		for j := range list {
			list[j] = renamed(list[j])
		}
	}
	return bson.Marshal(fields)
}
