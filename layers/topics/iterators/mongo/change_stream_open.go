package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// executeOperation runs the stream's aggregate and opens the cursor on its reply. Operation.Execute retries the aggregate like
// every read, on the client's deployment rather than on a connection checked out beforehand: a retry after an overload error must
// neither hold a connection nor return to the same server.
//
//fork:replace a separate loop on one connection cannot follow the overload retry policy
func (cs *ChangeStream) executeOperation(ctx context.Context, resuming bool) error {
	if resuming {
		if cs.err = cs.resumePipeline(); cs.err != nil {
			return cs.Err()
		}
	}
	reply, err := cs.runAggregate(ctx)
	if cs.err = wrapErrors(err); cs.err != nil {
		return cs.err
	}
	return cs.openCursor(reply)
}

// resumePipeline rewrites the pipeline to resume where the stream was interrupted. The options depend on the wire version of the
// server on which the stream was opened.
func (cs *ChangeStream) resumePipeline() error {
	cs.replaceOptions(cs.wireVersion)
	opts, err := cs.createPipelineOptionsDoc()
	if err != nil {
		return err
	}
	cs.pipelineSlice[0] = bsoncore.BuildDocument(nil, bsoncore.AppendDocumentElement(nil, "$changeStream", opts))

	pipeline, err := cs.pipelineToBSON()
	if err != nil {
		return err
	}
	cs.setPipeline(pipeline)
	return nil
}

// knowsStartAtOperationTime reports whether a server knows the option, as those since 4.0 do (change-streams.md, "Resume Process": "if
// maxWireVersion >= 7"). The driver supports only newer ones; without a wire version, as in some tests, it does not ask.
func knowsStartAtOperationTime(wireVersion *description.VersionRange) bool {
	const since = 7
	return wireVersion != nil && wireVersion.Max >= since
}

// openCursor opens the cursor on the aggregate's reply, and remembers where the stream starts if nothing else determines that.
func (cs *ChangeStream) openCursor(reply driver.CursorResponse) error {
	cs.wireVersion = reply.Desc.WireVersion

	cursor, err := driver.NewBatchCursor(reply, cs.sess, cs.client.clock, cs.cursorOptions)
	if err != nil {
		cs.err = wrapErrors(err)
		return cs.err
	}
	cs.state = streamOpened
	cs.cursor, cs.id = unseen{cursor}, cursor.ID() // unless the application closes it
	cs.upstreamUpdatePbrtFromCommand()             // not updatePbrtFromCommand, which is for a getMore

	// Unless the application or a token says where the stream starts, it resumes at the time of the aggregate (change-streams.md,
	// "Resume Process").
	startUnknown := cs.options.StartAtOperationTime == nil && cs.options.ResumeAfter == nil &&
		cs.options.StartAfter == nil && cs.resumeToken == nil
	if startUnknown && cs.emptyBatch() && knowsStartAtOperationTime(cs.wireVersion) {
		cs.operationTime = cs.sess.OperationTime
	}
	return nil
}
