package mongo

// anyError reports whether something holds for the error or for one that it wraps.
func anyError(err error, holds func(error) bool) bool {
	if err == nil {
		return false
	}
	if holds(err) {
		return true
	}
	switch wrapping := err.(type) {
	case interface{ Unwrap() error }:
		return anyError(wrapping.Unwrap(), holds)
	case interface{ Unwrap() []error }:
		for _, wrapped := range wrapping.Unwrap() {
			if anyError(wrapped, holds) {
				return true
			}
		}
	}
	return false
}
