package topology

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
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
func (m *member) handle(ctx context.Context, req *proxy.Request, next proxy.Next) (bson.Raw, error) {
	if proxy.IsHello(req.Command) {
		return m.hello(ctx, req, next)
	}
	routes := m.cluster.spec.Routes()
	if collection, _ := req.Document().Lookup("find").StringValueOK(); routes && req.Database == "config" && collection == "shards" {
		return m.shards(), nil
	}
	if refusal := m.refuse(req.Command, req.Document()); refusal != nil {
		return refusal, nil
	}
	inTransaction := routes && inTransaction(req.Document())
	if inTransaction {
		req.Message.Body = bsondoc.Rebuild(req.Document(), []string{recoveryToken}, nil)
	}
	reply, err := next(ctx, req)
	switch {
	case bsondoc.Has(reply, versionField): // it reveals the backend's own deployment
		reply = bsondoc.With(reply, bsondoc.D(versionField, m.view().version)...)
	case inTransaction && bsondoc.Succeeded(reply):
		reply = bsondoc.With(reply, bsondoc.D(recoveryToken, bsondoc.D("recoveryShardId", shardName))...)
	}
	return reply, err
}

// shards returns the content of config.shards. Clients see from the form of the host what the shards are.
func (m *member) shards() bson.Raw {
	shard := bsondoc.D("_id", shardName, "host", shardName+"/"+m.host, "state", 1)
	return servererror.OK(bsondoc.D("cursor", bsondoc.D("firstBatch", bson.A{shard}, "id", int64(0), "ns", "config.shards"))...)
}

// inTransaction reports whether a command belongs to a transaction of several commands.
func inTransaction(doc bson.Raw) bool {
	autocommit, err := doc.LookupErr("autocommit")
	return err == nil && !bsondoc.IsTrue(autocommit)
}

// reads run on a secondary if the client says so, writes on a primary only.
var (
	reads  = []string{"find", "aggregate", "count", "distinct", "listCollections", "listIndexes", "listDatabases"}
	writes = []string{"insert", "update", "delete", "bulkWrite", "findAndModify", "create", "createIndexes", "drop", "dropDatabase",
		"dropIndexes", "commitTransaction", "abortTransaction"}
)

// refuse returns an error reply if a replica set's member does not run the command. Until a new primary is elected, every member is a
// secondary. Commands that it does not refuse concern the connection, the session, the process or existing cursors.
func (m *member) refuse(command string, doc bson.Raw) bson.Raw {
	v := m.view()
	if m.cluster.spec.Kind != ReplicaSet || v.primary == m {
		return nil
	}
	failure := servererror.Errorf(servererror.CodeNotWritablePrimary, "not primary")
	mode, given := doc.Lookup("$readPreference", "mode").StringValueOK()
	switch reads := slices.Contains(reads, command); {
	case !reads && !slices.Contains(writes, command), reads && !inTransaction(doc) && given && mode != "primary":
		return nil
	case reads && !inTransaction(doc):
		failure = servererror.Errorf(servererror.CodeNotPrimaryNoSecondaryOk,
			"not primary and secondaryOk=false: give a read preference to read from a secondary")
	}
	failure.Labels = servererror.Labels(doc, failure.Code, 0, false)
	// Clients tell from it whether they already know that the member is a secondary.
	failure.Extra = bsondoc.D(versionField, v.version)
	return failure.Reply()
}
