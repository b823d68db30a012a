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
