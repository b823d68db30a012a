package mongo

import (
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// bulkRecord is what the commands of an InsertMany, a Collection.BulkWrite or a Client.BulkWrite did. Result and error of these calls are
// put together from it alone.
type bulkRecord struct {
	writes  int // of the call: its documents, or its models
	ordered bool
	// commands are those that did not simply succeed. Writes that are in none of them were executed.
	commands []bulkCommand
	// many are the writes with a write error that may have changed several documents.
	many map[int]bool
}

// bulkCommand is what one command did.
type bulkCommand struct {
	driver.Outcome
	// indexes are those in the call of the documents of the command's operation: a Collection.BulkWrite has several operations. They
	// are nil for InsertMany and Client.BulkWrite, which are one.
	indexes []int
}

// index returns the index in the call of a document of the command's operation.
func (c *bulkCommand) index(document int) int {
	if c.indexes == nil {
		return document
	}
	return c.indexes[document]
}

// add adds what the commands of an operation did, which has so many documents with these indexes in the call, and failed with err. That
// is nil if an earlier failure kept it from being sent.
func (o *bulkRecord) add(err error, documents int, indexes []int) {
	failed, ok := err.(driver.BatchesError)
	if !ok { // it failed before it could send anything
		kind := driver.OutcomeUnsent
		if err != nil && isInvalid(wrapErrors(err)) { // it would fail again
			kind = driver.OutcomeFailed
		}
		failed.Outcomes = []driver.Outcome{{Kind: kind, Documents: documents, Err: err}}
	}
	for _, one := range failed.Outcomes {
		o.commands = append(o.commands, bulkCommand{one, indexes})
	}
}

// isInvalid reports whether an error says that the documents or models are invalid: they cannot be sent, now or later.
func isInvalid(err error) bool {
	var marshaling MarshalError
	return errors.As(err, &marshaling) || errors.Is(err, ErrNilDocument) || errors.Is(err, ErrEmptySlice) || errors.Is(err, ErrNotSlice)
}

// setMany notes which writes with a write error may have changed several documents.
func (o *bulkRecord) setMany(many func(write int) bool) {
	for i := range o.commands {
		c := &o.commands[i]
		for _, writeErr := range c.Written.WriteErrors {
			write := c.index(int(writeErr.Index))
			if !many(write) {
				continue
			}
			if o.many == nil {
				o.many = map[int]bool{}
			}
			o.many[write] = true
		}
	}
}

// executed reports whether the server executed anything of the call, as far as that is known.
func (o *bulkRecord) executed() bool {
	others := o.writes // in the end, those of commands that simply succeeded
	for _, c := range o.commands {
		if c.Kind == driver.OutcomeExecuted {
			return true
		}
		others -= c.Documents
	}
	return others > 0
}

// commandError returns the error of the only command that failed or, if all that failed were rejected or not sent, that of the last one
// rejected, or else of the last one. It returns nil if the server executed anything, or if one of several failed in another way.
func (o *bulkRecord) commandError() error {
	if o.executed() {
		return nil
	}
	var last, rejected error
	failures, others := 0, 0
	for _, c := range o.commands {
		if c.Err == nil {
			continue
		}
		failures++
		last = c.Err
		switch c.Kind {
		case driver.OutcomeRejected:
			rejected = c.Err
		case driver.OutcomeUnsent:
		default:
			others++
		}
	}
	if others > 0 && failures > 1 {
		return nil
	}
	if rejected != nil {
		last = rejected
	}
	err := wrapErrors(last)
	if commandErr, ok := err.(CommandError); ok {
		commandErr.Wrapped = bulkRecordError{commandErr.Wrapped, o}
		return commandErr
	}
	return err
}

// bulkRecordError is an error from which BulkOutcome learns what became of the writes of a call.
type bulkRecordError struct {
	error
	record *bulkRecord
}

func (e bulkRecordError) Unwrap() error           { return e.error }
func (e bulkRecordError) bulkRecord() *bulkRecord { return e.record }

// bulkErrors are the errors of a call, with the indexes of its writes, and the labels that are right for all of it.
type bulkErrors struct {
	writes   []WriteError
	concerns []WriteConcernError
	commands []error
	labels   []string
	labeled  map[string]bool // the labels, so that each is there once
}

func (o *bulkRecord) errors() bulkErrors {
	errs := bulkErrors{labeled: map[string]bool{}}
	perhaps := false // a command may have been executed, and a retry that the server recognizes would be right
	for i := range o.commands {
		c := &o.commands[i]
		for _, writeErr := range writeErrorsFromDriverWriteErrors(c.Written.WriteErrors) {
			writeErr.Index = c.index(writeErr.Index)
			errs.writes = append(errs.writes, writeErr)
		}
		if concernErr := convertDriverWriteConcernError(c.Written.WriteConcernError); concernErr != nil {
			errs.concerns = append(errs.concerns, *concernErr)
		}
		errs.addLabels(c.Written.Labels)
		if c.Err == nil && c.Unread > 0 {
			errs.commands = append(errs.commands, fmt.Errorf("malformed reply: its results lack %d write errors", c.Unread))
		}
		if c.Err != nil {
			err := wrapErrors(c.Err)
			errs.commands = append(errs.commands, err)
			errs.addLabels(labelsOf(err))
			perhaps = perhaps || c.Kind == driver.OutcomeUnknown && errorHasLabel(err, driver.RetryableWriteError)
		}
	}
	errs.labels = withoutCommandLabels(errs.labels, perhaps)
	return errs
}

func (e *bulkErrors) addLabels(labels []string) {
	for _, label := range labels {
		if !e.labeled[label] {
			e.labeled[label] = true
			e.labels = append(e.labels, label)
		}
	}
}

// labelsOf returns the labels of an error of a command, whatever its type.
func labelsOf(err error) []string {
	if commandErr, ok := err.(CommandError); ok {
		return commandErr.Labels
	}
	return backpressure.LabelsInChain(err)
}

// bulkWriteException returns the error of an InsertMany or a Collection.BulkWrite, whose models these are.
func (o *bulkRecord) bulkWriteException(models []WriteModel) error {
	if err := o.commandError(); err != nil {
		return err
	}
	errs := o.errors()
	exception := BulkWriteException{
		WriteErrors:        make([]BulkWriteError, len(errs.writes)),
		WriteConcernErrors: errs.concerns,
		Labels:             errs.labels,
		failure:            bulkFailure{o, errs.commands},
	}
	if n := len(errs.concerns); n > 0 {
		exception.WriteConcernError = &errs.concerns[n-1]
	}
	for i, writeErr := range errs.writes {
		exception.WriteErrors[i].WriteError = writeErr
		if models != nil {
			exception.WriteErrors[i].Request = models[writeErr.Index]
		}
	}
	return exception
}

// clientBulkWriteException returns the error of a Client.BulkWrite with this result so far.
func (o *bulkRecord) clientBulkWriteException(result *ClientBulkWriteResult) error {
	if err := o.commandError(); err != nil {
		return rejectedClientBulkWrite(err)
	}
	errs := o.errors()
	exception := ClientBulkWriteException{
		WriteConcernErrors: errs.concerns, Labels: errs.labels, failure: bulkFailure{o, errs.commands},
	}
	if n := len(errs.commands); n > 0 {
		exception.WriteError = topLevelError(errs.commands[n-1])
	}
	for _, writeErr := range errs.writes {
		if exception.WriteErrors == nil {
			exception.WriteErrors = make(map[int]WriteError, len(errs.writes))
		}
		exception.WriteErrors[writeErr.Index] = writeErr
	}
	if o.succeeded() {
		exception.PartialResult = result
	}
	return exception
}

// topLevelError returns a command's error as the exception of a Client.BulkWrite has it.
func topLevelError(err error) *WriteError {
	var commandErr CommandError
	if !errors.As(err, &commandErr) {
		return &WriteError{Message: err.Error()}
	}
	return &WriteError{Code: int(commandErr.Code), Message: commandErr.Message, Raw: commandErr.Raw}
}

// succeeded reports whether at least one write was executed without an error (bulk-write.md, "Handling the bulkWrite Server Response").
func (o *bulkRecord) succeeded() bool {
	for _, c := range o.commands {
		if c.Kind == driver.OutcomeExecuted && !o.ordered && len(c.Written.WriteErrors)+c.Unread < c.Documents {
			return true // whichever they are: with Unread errors, no state says done
		}
	}
	for _, state := range o.states() {
		if state == writeDone {
			return true
		}
	}
	return false
}
