package topology

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// Handler returns what makes a front into that member of the cluster.
//
// What comes after it in the chain of handlers sees hellos that are not awaited: one for each reply of a stream.
func (c *Cluster) Handler(front int) proxy.Handler { return c.members[front] }

// Handle implements proxy.Handler.
func (m *member) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	if IsHello(req.Command) {
		return m.hello(ctx, req, reply, next)
	}
	result, refused := m.answer(req)
	switch {
	case refused != nil:
		return refused.Send(req, reply)
	case result != nil:
		return answer.OK(req, reply, result...)
	}
	inTransaction := m.cluster.spec.Routes() && inTransaction(req.Document())
	if inTransaction {
		withoutRecoveryToken(req)
	}
	return next(ctx, req, func(got *wire.Message) error {
		m.adapt(got)
		if inTransaction {
			withRecoveryToken(got)
		}
		return reply(got)
	})
}

// answer returns the result of a command that does not concern the backend, or the error with which it is refused, or neither.
func (m *member) answer(req *proxy.Request) (bson.D, *answer.Error) {
	v, doc := m.view(), req.Document()
	switch m.cluster.spec.Kind {
	case Standalone:
		return nil, refuseStandalone(req.Command, doc)
	case ReplicaSet:
		if isReplicaSetCommand(req.Command) {
			return m.administer(v, req.Command, doc)
		}
		return nil, refuseSecondary(v, req.Command, doc)
	default:
		if req.Database == "config" && isShardsQuery(req.Command, doc) {
			return m.shards(), nil
		}
		return nil, refuseRouter(req.Command)
	}
}

// logicalTimes are the reply fields for causal consistency, which a standalone does not have.
var logicalTimes = []string{"$clusterTime", "operationTime"}

// adapt removes the fields of a reply that reveal the backend's own deployment.
func (m *member) adapt(got *wire.Message) {
	doc := got.Document()
	if doc == nil {
		return
	}
	if m.cluster.spec.Kind == Standalone && (bsondoc.Has(doc, logicalTimes[0]) || bsondoc.Has(doc, logicalTimes[1])) {
		doc = bsondoc.Rebuild(doc, logicalTimes, nil)
		got.SetDocument(doc)
	}
	if bsondoc.Has(doc, versionField) || m.cluster.spec.Kind == ReplicaSet && TellsOfNoPrimary(doc) {
		got.SetDocument(bsondoc.Rebuild(doc, []string{versionField}, m.view().version.append))
	}
}

// TellsOfNoPrimary reports whether a reply says that the member is not primary. Clients tell from its topologyVersion, which
// running servers add only to these errors, whether that is news.
func TellsOfNoPrimary(doc bson.Raw) bool {
	if !bsondoc.Succeeded(doc) {
		return isNotPrimary(doc.Lookup("code"))
	}
	return isNotPrimary(doc.Lookup("writeConcernError", "code"))
}

func isNotPrimary(code bson.RawValue) bool {
	n, _ := bsondoc.Int64(code)
	switch n {
	case answer.CodePrimarySteppedDown, answer.CodeNotWritablePrimary, answer.CodeInterruptedByStateChange, answer.CodeNotPrimaryNoSecondaryOk,
		answer.CodeNotPrimaryOrSecondary:
		return true
	default:
		return false
	}
}

// inTransaction reports whether a command belongs to a transaction of several commands.
func inTransaction(doc bson.Raw) bool {
	autocommit, err := doc.LookupErr("autocommit")
	return err == nil && !bsondoc.IsTrue(autocommit)
}
