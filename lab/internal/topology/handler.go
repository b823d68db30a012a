package topology

import (
	"context"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
	"mongofork/lab/internal/wire"
)

const (
	// shardName is the one shard of every sharded cluster of this package.
	shardName = "lab-shard"
	// recoveryToken is the token that a router returns in a transaction, so that another one can find its outcome. Routers
	// understand it, the backend does not.
	recoveryToken = "recoveryToken"
)

// Handler returns what makes a front into that member of the cluster. What comes after it in the chain of handlers sees hellos that are
// not awaited.
func (c *Cluster) Handler(front int) proxy.Handler { return c.members[front].handle }

// handle is a proxy.Handler.
func (m *member) handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	if proxy.IsHello(req.Command) {
		return m.hello(ctx, req, reply, next)
	}
	result, refused := m.answer(req)
	switch {
	case refused != nil:
		return refused.Send(req, reply)
	case result != nil:
		return servererror.OK(req, reply, result...)
	}
	inTransaction := m.cluster.spec.Routes() && inTransaction(req.Document())
	if inTransaction && bsondoc.Has(req.Document(), recoveryToken) {
		req.Message.Body = bsondoc.Rebuild(req.Document(), []string{recoveryToken}, nil)
	}
	return next(ctx, req, func(got *wire.Message) error {
		switch {
		case bsondoc.Has(got.Body, versionField): // it reveals the backend's own deployment
			got.Body = bsondoc.With(got.Body, bson.E{Key: versionField, Value: m.view().version})
		case inTransaction && bsondoc.Succeeded(got.Body):
			token := bson.D{{Key: "recoveryShardId", Value: shardName}}
			got.Body = bsondoc.With(got.Body, bson.E{Key: recoveryToken, Value: token})
		}
		return reply(got)
	})
}

// answer returns the result of a command that does not concern the backend, or the error with which it is refused, or neither.
func (m *member) answer(req *proxy.Request) (bson.D, *servererror.Error) {
	doc, kind := req.Document(), m.cluster.spec.Kind
	collection, _ := doc.Lookup("find").StringValueOK()
	switch {
	case strings.HasPrefix(req.Command, "replSet"):
		return nil, servererror.Errorf(servererror.CodeCommandNotFound, "the lab has no command '%s'", req.Command)
	case kind == ReplicaSet:
		return nil, m.refuse(req.Command, doc)
	case m.cluster.spec.Routes() && req.Database == "config" && collection == "shards":
		return m.shards(), nil
	default:
		return nil, nil
	}
}

// shards returns the content of config.shards: clients tell from the form of the host what the shards are.
func (m *member) shards() bson.D {
	return bson.D{{Key: "cursor", Value: bson.D{
		{Key: "firstBatch", Value: bson.A{bson.D{
			{Key: "_id", Value: shardName}, {Key: "host", Value: shardName + "/" + m.host}, {Key: "state", Value: 1},
		}}},
		{Key: "id", Value: int64(0)}, {Key: "ns", Value: "config.shards"},
	}}}
}

// inTransaction reports whether a command belongs to a transaction of several commands.
func inTransaction(doc bson.Raw) bool {
	autocommit, err := doc.LookupErr("autocommit")
	return err == nil && !bsondoc.IsTrue(autocommit)
}

// refuse returns an error if a replica set's member does not run the command. Before a new primary is elected every
// member is a secondary. Other commands of a server in memory run everywhere: they concern the connection, the session, the
// process, or existing cursors.
func (m *member) refuse(command string, doc bson.Raw) *servererror.Error {
	v := m.view()
	if v.primary == m {
		return nil
	}
	failure := servererror.Errorf(servererror.CodeNotWritablePrimary, "not primary")
	switch command {
	case "find", "aggregate", "count", "distinct", "listCollections", "listIndexes", "listDatabases":
		mode, given := doc.Lookup("$readPreference", "mode").StringValueOK()
		switch {
		case inTransaction(doc):
		case given && mode != "primary":
			return nil
		default:
			failure = servererror.Errorf(servererror.CodeNotPrimaryNoSecondaryOk,
				"not primary and secondaryOk=false: give a read preference to read from a secondary")
		}
	case "insert", "update", "delete", "bulkWrite", "findAndModify", "create", "createIndexes", "drop", "dropDatabase", "dropIndexes",
		"commitTransaction", "abortTransaction":
	default:
		return nil
	}
	failure.Labels = servererror.Labels(doc, failure.Code, 0, false)
	// Clients tell from it whether they already know that the member is a secondary.
	failure.Extra = bson.D{{Key: versionField, Value: v.version}}
	return failure
}
