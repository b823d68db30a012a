package fronts

import (
	"cmp"
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/topology"
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
func (h memberHandler) Handle(ctx context.Context, req *proxy.Request, next proxy.Next) (bson.Raw, error) {
	reply, err := next(ctx, req)
	if err != nil || !proxy.IsHello(req.Command) {
		return reply, err
	}
	var fields bson.D
	if err := bson.Unmarshal(reply, &fields); err != nil {
		return nil, err
	}
	for i := range fields {
		fields[i].Value = h.rename(fields[i].Value)
	}
	return bsondoc.Marshal(fields), nil
}

// rename returns what replaces the name of a member, or a list of them, and any other value.
func (h memberHandler) rename(value any) any {
	switch value := value.(type) {
	case string:
		return cmp.Or(h[value], value)
	case bson.A:
		for i := range value {
			value[i] = h.rename(value[i])
		}
	}
	return value
}
