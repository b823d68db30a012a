package backpressure

import "go.mongodb.org/mongo-driver/v2/event"

// Account is what an error that stays of its type holds about an operation's attempts, or nothing.
type Account struct{ *event.RetryError }

// Message returns the message of the error that holds it. If there was a backoff, its end says so.
func (a Account) Message(message string) string {
	if a.RetryError == nil || a.Backoff == 0 {
		return message
	}
	return message + " (" + a.Error() + ")"
}

// As lets errors.As find the RetryError.
func (a Account) As(target any) bool {
	found, ok := target.(**event.RetryError)
	if ok = ok && a.RetryError != nil; ok {
		*found = a.RetryError
	}
	return ok
}
