package topology

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/bsondoc"
)

// maxAwait bounds what clients ask for, which is their heartbeat's interval.
const maxAwait = 24 * time.Hour

// await is a hello that is answered when there is news, or when its time is over.
type await struct {
	known topologyVersion
	limit time.Duration
}

// parseAwait returns what a hello asks for, or nil if it wants its answer at once.
func parseAwait(doc bson.Raw) (*await, *answer.Error) {
	known, limit := doc.Lookup(versionField), doc.Lookup("maxAwaitTimeMS")
	if known.IsZero() && limit.IsZero() {
		return nil, nil
	}
	milliseconds, ok := bsondoc.Int64(limit)
	if !ok || milliseconds < 0 {
		return nil, answer.Errorf(answer.CodeBadValue, "a hello with topologyVersion needs maxAwaitTimeMS, at least 0, and vice versa")
	}
	var version bson.Raw
	if version, ok = known.DocumentOK(); !ok {
		return nil, answer.Errorf(answer.CodeBadValue, "a hello with maxAwaitTimeMS needs topologyVersion, a document")
	}
	a := &await{limit: time.Duration(min(milliseconds, maxAwait.Milliseconds())) * time.Millisecond}
	if a.known.process, ok = version.Lookup("processId").ObjectIDOK(); !ok {
		return nil, answer.Errorf(answer.CodeBadValue, "topologyVersion.processId is not an ObjectId")
	}
	if a.known.counter, ok = bsondoc.Int64(version.Lookup("counter")); !ok || a.known.counter < 0 {
		return nil, answer.Errorf(answer.CodeBadValue, "topologyVersion.counter is not a number, or below 0")
	}
	return a, nil
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
