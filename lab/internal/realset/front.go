package realset

import (
	"context"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/topology"
	"mongofork/lab/internal/wire"
)

const versionField = "topologyVersion"

// Handler returns what makes a front a member, for clients of fronts at these addresses, in the order of the members.
func (s *Set) Handler(hosts []string) proxy.Handler {
	f := &front{names: make(map[string]string)}
	for i, m := range s.Members() {
		f.names[m.Host()], f.names[m.Address()] = hosts[i], hosts[i]
	}
	return f
}

// front makes a front a member.
type front struct {
	names   map[string]string             // of fronts by those of members
	version atomic.Pointer[bson.RawValue] // what the member last said of the version of its state
}

// Handle implements proxy.Handler. The member answers hellos itself, and waits for changes if asked to.
func (f *front) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	return next(ctx, req, func(got *wire.Message) (err error) {
		if !proxy.IsHello(req.Command) {
			f.addVersion(got)
			return reply(got)
		}
		if got.Body, err = rename(got.Body, f.names); err != nil {
			return err
		}
		if version, err := got.Body.LookupErr(versionField); err == nil {
			f.version.Store(&version)
		}
		return reply(got)
	})
}

// addVersion adds the member's topologyVersion to the fail point's error, as the member does with such errors: clients use it to
// see whether the error is news.
func (f *front) addVersion(got *wire.Message) {
	version := f.version.Load()
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
