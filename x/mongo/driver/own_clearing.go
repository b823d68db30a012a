package driver

import "errors"

// clearedPool is implemented by errors of a pool that was cleared before it had a connection.
type clearedPool interface {
	// ClearedFor reports whether that was for this failure to establish a connection.
	ClearedFor(failure error) bool
}

// meetOwnClearing reports, once for each failure, whether the attempt after it found the pool being cleared for it. A pool tells who
// waits for a connection of its failure first, and is cleared once the application's monitors know: until then it can be used, so that a
// retry comes too early. The next waits until the server is known again.
func (errs *attemptErrors) meetOwnClearing(a *attempt) bool {
	var cleared clearedPool
	met := errs.previous != nil && errors.As(a.err, &cleared) && cleared.ClearedFor(errs.previous)
	errs.previous = nil
	return met
}
