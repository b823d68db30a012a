package virtual

import (
	"slices"
	"strings"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
)

// session is a logical session: its latest transaction, or its latest retryable write with the reply to it.
type session struct {
	number int64
	host   string // that began the transaction
	state  state
	undo   []func() // reverts the transaction's writes, the last one first
	write  result   // of a retryable write that was executed
}

type state int

const (
	none state = iota
	inProgress
	committed
	aborted
)

// inSession runs a command by the rules for transactions and retryable writes: a write that is sent again is not executed again.
func (s *store) inSession(q *query) (result, *failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	needless := s.opts.Auth == nil || proxy.IsHello(q.Command) || strings.HasPrefix(q.Command, "sasl")
	if !needless && !s.authenticated[q.Client] {
		return nil, servererror.Errorf(13, "Command %s requires authentication", q.Command)
	}
	if q.Number == nil {
		return s.execute(q)
	}
	number, key := *q.Number, string(q.Session)
	current := s.sessions[key]
	if current == nil {
		current = &session{number: -1}
		s.sessions[key] = current
	}
	if number < current.number {
		return nil, servererror.Errorf(225, "transaction %d is older than the session's latest, %d", number, current.number)
	}
	if q.Autocommit != nil {
		return s.inTransaction(q, current, number)
	}
	if number == current.number && current.write != nil {
		return slices.Clone(current.write), nil
	}
	current.abort()
	*current = session{number: number}
	reply, failed := s.execute(q)
	if failed == nil {
		current.write = slices.Clone(reply)
	}
	return reply, failed
}

// inTransaction runs a command of a transaction of several commands. The store is locked.
func (s *store) inTransaction(q *query, current *session, number int64) (result, *failure) {
	if q.StartTransaction {
		if number == current.number && current.state != none {
			return nil, servererror.Errorf(117, "transaction %d has already been started", number)
		}
		current.abort()
		*current = session{number: number, host: q.host, state: inProgress}
	}
	ends := strings.HasSuffix(q.Command, "Transaction") // at any router, with a recovery token
	if number > current.number && q.Command != "abortTransaction" || q.host != current.host && s.spec.Routes() && !ends {
		s.unstarted++
	}
	if number != current.number || current.state == none || current.state == aborted {
		return nil, servererror.Errorf(servererror.CodeNoSuchTransaction, "no such transaction is in progress")
	}
	switch {
	case q.Command == "commitTransaction":
		current.state, current.undo = committed, nil
		return nil, nil
	case current.state == committed:
		return nil, servererror.Errorf(256, "transaction %d has been committed", number)
	case q.Command == "abortTransaction":
		current.abort()
		return nil, nil
	}
	q.transaction = current
	reply, failed := s.execute(q)
	if failed != nil {
		current.abort()
	}
	return reply, failed
}

// abort ends the transaction that is in progress, if there is one. The store is locked.
func (t *session) abort() {
	if t.state != inProgress {
		return
	}
	for _, undo := range slices.Backward(t.undo) {
		undo()
	}
	t.state, t.undo = aborted, nil
}

func (s *store) endSessions(q *query) (result, *failure) {
	for _, ended := range q.EndSessions {
		if current := s.sessions[string(ended)]; current != nil {
			current.abort()
		}
	}
	return nil, nil
}

// Transactions returns how many have neither been committed nor aborted, and how many commands were of one that had not been started there.
func (s *store) Transactions() (open, unstarted int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, session := range s.sessions {
		if session.state == inProgress {
			open++
		}
	}
	return open, s.unstarted
}
