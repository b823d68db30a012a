package mongo

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
)

// BulkWriteOutcome says what became of each document of an InsertMany, or each model of a Collection.BulkWrite or a Client.BulkWrite. Each
// index of the call is in one of the fields. Slices are in ascending order.
//
// In a transaction it says what became of the writes there: none of them is done unless the transaction is committed.
type BulkWriteOutcome struct {
	// Done are the writes that the server executed, and acknowledged. All of them can be done beside an error: if the results of a
	// Client.BulkWrite cannot be read, but the server counts no failed write. Verbose results, with IDs, then lack what was not read.
	Done []int

	// Failed are the writes that failed, each with its error: a WriteError or, if the whole command failed, the command's error. An
	// update or delete of many documents may have changed some of them before it failed.
	Failed map[int]error

	// NotExecuted are the writes of which certainly nothing was executed, so that they can be sent again: those of commands that an
	// overloaded server rejected or that were not sent, those after a failed write if the call is ordered, and single writes that the
	// server did not execute because it is overloaded. The latter, which servers since 9.0 report, have a WriteError, too.
	NotExecuted []int

	// Unknown are the writes that may or may not have been executed: there was no reply, or the server stopped in the midst of them.
	// Sent again, an insert of a document with the same _id does no harm: it may fail as a duplicate.
	Unknown []int
}

// BulkOutcome returns what became of the writes of an InsertMany, a Collection.BulkWrite or a Client.BulkWrite: err is the error that it
// returned, which may be nil, and writes the number of the documents or models that it was called with.
//
// If err is not the error of such a call, nor wraps it, all writes are Unknown, or NotExecuted if it says that no command was sent. So do
// not make an error of your own of its fields or its text before you ask.
//
// It knows nothing of writes with an unacknowledged write concern, though without an error it says that they are Done: no server has
// acknowledged them.
func BulkOutcome(err error, writes int) BulkWriteOutcome {
	record := &bulkRecord{writes: writes}
	var holder interface{ bulkRecord() *bulkRecord }
	switch {
	case err == nil:
	case errors.As(err, &holder) && holder.bulkRecord() != nil:
		record = holder.bulkRecord()
	default:
		record.commands = []bulkCommand{{Outcome: driver.Outcome{Kind: kindWithoutRecord(err), Documents: writes, Err: err}}}
	}
	return record.public()
}

// kindWithoutRecord returns what became of the writes of a call whose error has no outcome. Only some errors are certainly of calls that
// have sent nothing: not that of a client that is disconnected, which a repeated commit may have met, too. A CommandError is that of a
// command that was sent, or of another method.
func kindWithoutRecord(err error) driver.OutcomeKind {
	switch {
	case isInvalid(err):
		return driver.OutcomeFailed
	case errors.As(err, &CommandError{}):
		return driver.OutcomeUnknown
	case errors.As(err, &topology.ServerSelectionError{}), errors.As(err, &topology.WaitQueueTimeoutError{}),
		errors.As(err, &topology.ConnectionError{}):
		return driver.OutcomeUnsent
	default:
		return driver.OutcomeUnknown
	}
}

// writeState is what became of a write.
type writeState uint8

const (
	writeDone writeState = iota
	writeFailed
	writeNotExecuted
	writeUnknown
)

// overloadCodes are those of single writes that an overloaded server does not execute. They have no labels.
var overloadCodes = map[int64]bool{433: true, 449: true, 450: true, 462: true, 473: true, 489: true}

// states returns what became of each write of the call.
func (o *bulkRecord) states() []writeState {
	states := make([]writeState, o.writes)
	for i := range o.commands {
		c := &o.commands[i]
		state := stateOf(c.Outcome)
		for document := c.First; document < c.First+c.Documents; document++ {
			states[c.index(document)] = state
		}
		o.setFailed(states, c)
	}
	return states
}

// stateOf returns what became of the writes of a command that have no write error.
func stateOf(one driver.Outcome) writeState {
	switch one.Kind {
	case driver.OutcomeRejected, driver.OutcomeUnsent:
		return writeNotExecuted
	case driver.OutcomeFailed:
		return writeFailed
	case driver.OutcomeExecuted:
		if one.Unread == 0 {
			return writeDone
		}
	}
	return writeUnknown
}

// setFailed sets the states of writes that have a write error, and of those after it that an ordered command does not execute.
func (o *bulkRecord) setFailed(states []writeState, c *bulkCommand) {
	for _, writeErr := range c.Written.WriteErrors {
		write := c.index(int(writeErr.Index))
		states[write] = writeFailed
		if overloadCodes[writeErr.Code] && !o.many[write] {
			states[write] = writeNotExecuted
		}
		if o.ordered {
			for document := int(writeErr.Index) + 1; document < c.First+c.Documents; document++ {
				states[c.index(document)] = writeNotExecuted
			}
			return // what follows was not executed, whatever else the reply says
		}
	}
}

// public returns the outcome as applications see it.
func (o *bulkRecord) public() BulkWriteOutcome {
	var outcome BulkWriteOutcome
	for write, state := range o.states() {
		switch state {
		case writeDone:
			outcome.Done = append(outcome.Done, write)
		case writeNotExecuted:
			outcome.NotExecuted = append(outcome.NotExecuted, write)
		case writeUnknown:
			outcome.Unknown = append(outcome.Unknown, write)
		case writeFailed:
			if outcome.Failed == nil {
				outcome.Failed = map[int]error{}
			}
			outcome.Failed[write] = nil // see explain
		}
	}
	o.explain(outcome.Failed)
	return outcome
}

// explain adds the errors of the writes that failed.
func (o *bulkRecord) explain(failed map[int]error) {
	for i := range o.commands {
		c := &o.commands[i]
		if c.Kind == driver.OutcomeFailed {
			err := wrapErrors(c.Err)
			for document := c.First; document < c.First+c.Documents; document++ {
				failed[c.index(document)] = err
			}
		}
		for _, writeErr := range writeErrorsFromDriverWriteErrors(c.Written.WriteErrors) {
			writeErr.Index = c.index(writeErr.Index)
			if _, ok := failed[writeErr.Index]; ok { // and not in NotExecuted
				failed[writeErr.Index] = writeErr
			}
		}
	}
}
