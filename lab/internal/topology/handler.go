package topology

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
)

const (
	shardName = "lab-shard" // the one shard of every sharded cluster of this package
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
		// Clients see from the form of the host what the shards are.
		shard := bsondoc.D("_id", shardName, "host", shardName+"/"+m.host, "state", 1)
		cursor := bsondoc.D("firstBatch", bson.A{shard}, "id", int64(0), "ns", "config.shards")
		return servererror.OK(bsondoc.D("cursor", cursor)...), nil
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

const versionField = "topologyVersion"

// The fields of a hello or its reply about the place of a server in its deployment. The rest of a hello is between the client and
// the backend: authentication, sizes, versions, the connection's number.
var (
	helloOptions = []string{versionField, "maxAwaitTimeMS", "loadBalanced"}
	helloPlace   = []string{"helloOk", "ismaster", "isWritablePrimary", "secondary", "isreplicaset", "setName", "setVersion", "hosts",
		"primary", "me", "electionId", "tags", versionField, "msg", "serviceId"}
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
	v, c, writable := m.view(), m.cluster, "isWritablePrimary"
	if req.Command != "hello" {
		writable = "ismaster"
	}
	place := bsondoc.D(writable, c.spec.Kind != ReplicaSet || v.primary == m, versionField, v.version)
	say := func(isSo bool, key string, value any) {
		if isSo {
			place = append(place, bsondoc.D(key, value)...)
		}
	}
	say(bsondoc.IsTrue(req.Document().Lookup("helloOk")), "helloOk", true)
	if c.spec.Kind == ReplicaSet {
		var hosts bson.A
		for _, other := range c.members {
			hosts = append(hosts, other.host)
			say(other == v.primary, "primary", other.host)
		}
		place = append(place, bsondoc.D("secondary", v.primary != m, "setName", SetName, "setVersion", 1, "hosts", hosts,
			"me", m.host)...)
		say(v.primary == m, "electionId", electionID(v.term))
	}
	say(c.spec.Routes(), "msg", "isdbgrid")
	say(c.spec.Kind == LoadBalanced && bsondoc.IsTrue(req.Document().Lookup("loadBalanced")), "serviceId", m.service(req.Client.ID))
	return bsondoc.Rebuild(reply, helloPlace, bsondoc.Marshal(place))
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

// electionID grows with each election, also when compared as bytes.
func electionID(term int64) bson.ObjectID {
	id := bson.ObjectID{0x7f, 0xff, 0xff, 0xff}
	binary.BigEndian.PutUint64(id[4:], uint64(term))
	return id
}
