package metrics

import (
	"container/list"
	"sync"

	"mongofork/lab/internal/proxy"
)

// maxOperations bounds the operations that are remembered: those that have not been seen for the longest time are forgotten, and
// their next attempt counts as the first.
const maxOperations = 1 << 14

// unknownAttempt is the number of unknown attempts: the attempts of a retryable write, or of a transaction's commit, have the
// same session and transaction number; others have nothing in common.
const unknownAttempt = 0

// attempts numbers the attempts of operations, at any front.
type attempts struct {
	mu     sync.Mutex
	byKey  map[operation]*list.Element
	recent *list.List // of *operationAttempts, the latest in front
}

// operation is a session, a transaction number, and whether it ends a transaction.
type operation struct {
	session [16]byte
	number  uint64
	ends    bool
}

type operationAttempts struct {
	operation operation
	attempts  int
}

func newAttempts() *attempts {
	return &attempts{byKey: map[operation]*list.Element{}, recent: list.New()}
}

// number returns the request's attempt of its operation, from 1 to maxAttempts, or unknownAttempt.
func (a *attempts) number(req *proxy.Request) int {
	op, ok := operationOf(req)
	if !ok {
		return unknownAttempt
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	element, known := a.byKey[op]
	if !known {
		element = a.recent.PushFront(&operationAttempts{operation: op})
		a.byKey[op] = element
		if a.recent.Len() > maxOperations {
			oldest := a.recent.Remove(a.recent.Back()).(*operationAttempts)
			delete(a.byKey, oldest.operation)
		}
	}
	a.recent.MoveToFront(element)
	seen := element.Value.(*operationAttempts)
	seen.attempts = min(seen.attempts+1, maxAttempts)
	return seen.attempts
}

func operationOf(req *proxy.Request) (operation, bool) {
	doc := req.Document()
	number, ok := doc.Lookup("txnNumber").AsInt64OK()
	if !ok {
		return operation{}, false
	}
	_, session, ok := doc.Lookup("lsid", "id").BinaryOK()
	op := operation{number: uint64(number)}
	if !ok || len(session) != len(op.session) {
		return operation{}, false
	}
	op.session = [16]byte(session)
	op.ends = req.Command == "commitTransaction" || req.Command == "abortTransaction"
	if _, err := doc.LookupErr("autocommit"); err == nil && !op.ends {
		return operation{}, false // one of several commands of a transaction
	}
	return op, true
}
