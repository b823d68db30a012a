package backpressure

import "errors"

// Account is what an error that stays of its type holds about an operation's attempts.
type Account struct {
	_ struct{} // applications, which can call the methods After, cannot write a value of this type
	// Err is the *driver.RetryError, or nil.
	Err error
	// Shown is whether the error's message ends with what Err says.
	Shown bool
}

// Message returns the message of the error that holds it.
func (a Account) Message(message string) string {
	if !a.Shown {
		return message
	}
	return message + " (" + a.Err.Error() + ")"
}

// As lets errors.As find the *driver.RetryError.
func (a Account) As(target any) bool { return errors.As(a.Err, target) }
