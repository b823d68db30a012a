package driver

import (
	"fmt"
	"sort"
)

// OutcomeKind says how a command of an operation with Batches ended.
type OutcomeKind uint8

const (
	// OutcomeExecuted means that the server executed the command, perhaps with write errors, or without the write concern.
	OutcomeExecuted OutcomeKind = iota
	// OutcomeRejected means that the servers that the command was sent to executed nothing of it, or the client held it back.
	OutcomeRejected
	// OutcomeUnsent means that it was not sent.
	OutcomeUnsent
	// OutcomeUnknown means that a server may have executed it, or a part of it.
	OutcomeUnknown
	// OutcomeFailed means that a server answered with another error, or that a document is invalid, so that it cannot be sent.
	OutcomeFailed
)

// Outcome is what a command did that did not simply succeed. Like all of this package it may change, or go, in any version.
type Outcome struct {
	Kind OutcomeKind

	// First is the index of the command's first document in the operation, and Documents the number of its documents.
	First, Documents int

	// Written has the write errors and the write concern error of a command that was executed. Indexes are those in the operation.
	Written WriteCommandError
	// Unread is the number of further write errors, which could not be read.
	Unread int

	// Err is why the command was not executed. An executed command has one, too, if its retry failed, or its results could not be read.
	Err error
}

// BatchesError is the error of an operation with Batches, each of which is a command. It has no Unwrap, because what the operation
// has done is in the outcomes, and one command's error must not be taken for it.
type BatchesError struct {
	// Err is the error of the last command or, if all were executed, their write errors and a write concern error. If there is one
	// document, it is the operation's error.
	Err error
	// Outcomes are in the order of the documents. Documents that are in none were written.
	Outcomes []Outcome
	// Ordered is whether a write error ends a command, and the operation.
	Ordered bool
}

// Error implements the error interface.
func (e BatchesError) Error() string { return e.Err.Error() }

// ResultsError is what a ProcessResponseFn returns that reads results of a command: those that are write errors, with indexes in the
// batch, how many more there are by the reply, and why they could not be read.
type ResultsError struct {
	WriteErrors WriteErrors
	Unread      int
	Err         error
}

// Error implements the error interface.
func (e ResultsError) Error() string {
	if e.Err == nil {
		return e.WriteErrors.Error()
	}
	return e.Err.Error()
}

// addResults adds the write errors that the results tell of, and returns why the results could not be read.
func (o *Outcome) addResults(err error) error {
	results, ok := err.(ResultsError)
	if !ok {
		return err
	}
	o.Written.WriteErrors = append(o.Written.WriteErrors, results.WriteErrors...)
	o.Unread = results.Unread
	return results.Err
}

func (o *Outcome) succeeded() bool {
	return o.Err == nil && len(o.Written.WriteErrors) == 0 && o.Unread == 0 && o.Written.WriteConcernError == nil
}

// place gives the write errors their order, and the indexes of their documents in the operation.
func (o *Outcome) place() error {
	if len(o.Written.WriteErrors) == 0 {
		return nil
	}
	writeErrors, err := errorsOfBatch(o.Written.WriteErrors, o.Documents)
	if err != nil {
		return Error{Message: "malformed reply", Labels: o.Written.Labels, Raw: o.Written.Raw, Wrapped: err}
	}
	for i := range writeErrors {
		writeErrors[i].Index += int64(o.First)
	}
	o.Written.WriteErrors = writeErrors
	return nil
}

// errorsOfBatch returns the write errors that a server reports for a batch of so many documents, in the order of the documents and one
// for each. Callers use the indexes without looking: one that is no document's is an error.
func errorsOfBatch(reported WriteErrors, documents int) (WriteErrors, error) {
	sorted := append(WriteErrors(nil), reported...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].Index < sorted[j].Index })

	var kept WriteErrors
	for _, e := range sorted {
		if e.Index < 0 || e.Index >= int64(documents) {
			return nil, fmt.Errorf(
				"the server reports a write error for document %d of a batch of %d: %w",
				e.Index,
				documents,
				e,
			)
		}
		if len(kept) == 0 || kept[len(kept)-1].Index != e.Index {
			kept = append(kept, e)
		}
	}
	return kept, nil
}
