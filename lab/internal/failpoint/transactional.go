package failpoint

import (
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

const transactionalWriteName = "onPrimaryTransactionalWrite"

// transactionalWrite is the fail point for a retryable write, or a transaction's commit, that is about to be committed.
type transactionalWrite struct {
	closeConnection bool
	errorCode       *int32 // of an error before the commit; nil to commit
}

func parseTransactionalWrite(data bson.Raw) (*transactionalWrite, error) {
	f := &fields{fail: transactionalWriteName, doc: data}
	w := &transactionalWrite{closeConnection: true}
	err := f.each(func(key string, value bson.RawValue) bool {
		switch key {
		case "closeConnection":
			w.closeConnection = f.boolean(key, value)
		case "failBeforeCommitExceptionCode":
			code := f.count(key, value)
			w.errorCode = &code
		default:
			return false
		}
		return true
	})
	return w, err
}

// statements returns the number of writes that the request commits under a transaction number.
func statements(req *proxy.Request) int {
	doc := req.Document()
	if doc.Lookup("txnNumber").IsZero() {
		return 0
	}
	if req.Command == "commitTransaction" {
		return 1
	}
	if !doc.Lookup("autocommit").IsZero() {
		return 0 // these are committed later, all at once
	}
	switch canonical(req.Command) {
	case "findAndModify":
		return 1
	case "insert":
		return length(req, "documents")
	case "update":
		return length(req, "updates")
	case "delete":
		return length(req, "deletes")
	case "bulkWrite":
		return length(req, "ops")
	default:
		return 0
	}
}

// length returns the number of documents in a field, which may be sent as an array or beside the body.
func length(req *proxy.Request, field string) int {
	if msg, ok := req.Message.Content.(*wire.Msg); ok {
		for _, sequence := range msg.Sequences {
			if sequence.Identifier == field {
				return len(sequence.Documents)
			}
		}
	}
	array, _ := req.Document().Lookup(field).ArrayOK()
	values, _ := array.Values()
	return len(values)
}

// executed remembers the writes that were done, because their retries are no writes and do not trigger the fail point. A session
// has one write at a time, so its last one suffices.
type executed struct {
	mu     sync.Mutex
	latest map[string]int64
	order  []string // the sessions, the oldest first
}

// maxSessions bounds the memory that clients can take.
const maxSessions = 10_000

func (e *executed) has(session string, number int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	latest, ok := e.latest[session]
	return ok && latest == number
}

func (e *executed) add(session string, number int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.latest[session]; !ok {
		if len(e.order) == maxSessions {
			delete(e.latest, e.order[0])
			e.order = e.order[1:]
		}
		e.order = append(e.order, session)
	}
	if e.latest == nil {
		e.latest = map[string]int64{}
	}
	e.latest[session] = number
}

// beforeCommit is the error in place of the write.
func (w *transactionalWrite) beforeCommit(req *proxy.Request, router bool) *answer.Error {
	failure := answer.Errorf(*w.errorCode, "%s: the write is not committed", transactionalWriteName)
	failure.Labels = answer.Labels(req.Document(), *w.errorCode, 0, router)
	return failure
}
