package driver

import "errors"

// clearedPool is implemented by errors of a pool that was cleared before it had a connection.
type clearedPool interface {
	// ClearedFor reports whether that was for this failure to establish a connection.
	ClearedFor(failure error) bool
}

// waitsForOwnPoolClear reports, once for each failure, whether the attempt after it found the pool being cleared because of that failure,
// and is made again. A pool first tells whoever waits for a connection why it failed, then the application's monitors, and is cleared last.
// A retry may come in between; the next one waits until the server is known again.
func (errs *attemptErrors) waitsForOwnPoolClear(a *attempt) bool {
	var cleared clearedPool
	met := errs.previous != nil && errors.As(a.err, &cleared) && cleared.ClearedFor(errs.previous)
	errs.previous = nil
	return met
}
