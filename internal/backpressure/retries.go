package backpressure

import "errors"

// Retries is what an error that stays of its type holds about an operation's attempts.
type Retries struct {
	// Err is the *driver.RetryError, or nil.
	Err error
	// Told is whether the error's message ends with what Err says.
	Told bool
}

// Tell returns the message of the error that holds it.
func (r Retries) Tell(message string) string {
	if !r.Told {
		return message
	}
	return message + " (" + r.Err.Error() + ")"
}

// As lets errors.As find the *driver.RetryError.
func (r Retries) As(target any) bool { return errors.As(r.Err, target) }
