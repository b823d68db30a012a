package fronts

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/topology"
	"mongofork/lab/internal/wire"
	"mongofork/tools/rig/server"
)

// StartMembers starts a real replica set, for Config.Members. Its files are in a new folder below dir; the caller must stop it.
func StartMembers(ctx context.Context, mongod, dir string, count int) (*server.Deployment, error) {
	return server.Start(ctx, server.Options{Binary: mongod, Dir: dir, Members: count, ReplicaSet: topology.SetName})
}

// memberHandler makes a front a real member: clients see the fronts' addresses instead of the members'. These are the names of fronts by
// those of members.
type memberHandler map[string]string

// Handle is a proxy.Handler. The member answers hellos itself, and waits for changes if asked to.
func (h memberHandler) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	if !proxy.IsHello(req.Command) {
		return next(ctx, req, reply)
	}
	return next(ctx, req, func(got *wire.Message) (err error) {
		if got.Body, err = h.rename(got.Body); err != nil {
			return err
		}
		return reply(got)
	})
}

// rename returns the hello with every string that is a name replaced, at its top and in lists.
func (h memberHandler) rename(hello bson.Raw) (bson.Raw, error) {
	var fields bson.D
	if err := bson.Unmarshal(hello, &fields); err != nil {
		return nil, err
	}
	renamed := func(value any) any {
		if text, ok := value.(string); ok && h[text] != "" {
			return h[text]
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
