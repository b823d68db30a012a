package driver

import (
	"fmt"
	"sort"
)

// errorsOfBatch returns the write errors that a server reports for a batch of so many documents, in the order of the documents and one
// for each. Callers use the indexes without looking: one that is no document's is an error.
func errorsOfBatch(reported WriteErrors, documents int) (WriteErrors, error) {
	sorted := append(WriteErrors(nil), reported...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].Index < sorted[j].Index })

	kept := sorted[:0]
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

// writeFailed handles a write that the server executed with errors. It returns nil if they are to be collected.
func (ex *operationRun) writeFailed(e WriteCommandError) error {
	if ex.op.Batches != nil && len(e.WriteErrors) > 0 {
		writeErrors, err := errorsOfBatch(e.WriteErrors, ex.cmd.documents)
		if err != nil {
			return Error{Message: "malformed reply", Labels: e.Labels, Raw: e.Raw, Wrapped: err}
		}
		e.WriteErrors = writeErrors
		for i := range e.WriteErrors {
			e.WriteErrors[i].Index += int64(ex.currIndex)
		}
	}
	if e.WriteConcernError != nil {
		ex.failed.WriteConcernError = e.WriteConcernError
	}
	ex.failed.WriteErrors = append(ex.failed.WriteErrors, e.WriteErrors...)
	ex.failed.Labels = union(ex.failed.Labels, e.Labels)
	ex.failed.Raw = e.Raw
	if len(e.WriteErrors) > 0 && ex.ordered() {
		e.WriteConcernError, e.Labels = ex.failed.WriteConcernError, ex.failed.Labels
		return e
	}
	return nil
}

// ordered reports whether a write error of one batch ends the operation before the next.
func (ex *operationRun) ordered() bool {
	if ex.op.Batches == nil {
		return false
	}
	ordered := ex.op.Batches.IsOrdered()
	return ordered == nil || *ordered
}

// batchErrors returns the write errors and write concern errors of all batches.
func (ex *operationRun) batchErrors() error {
	if len(ex.failed.WriteErrors) == 0 && ex.failed.WriteConcernError == nil {
		return nil
	}
	return ex.failed
}
