package backpressure

import "errors"

// The labels of a retryable overload error (client-backpressure.md, "Terms").
const (
	SystemOverloadedError = "SystemOverloadedError"
	RetryableError        = "RetryableError"
)

// IsRetryableOverload reports whether an error is a retryable overload error: the server has not executed the command.
//
// An error with SystemOverloadedError alone is none, such as code 473 for a query that the server has admitted and then stopped.
func IsRetryableOverload(err error) bool {
	return HasOwnLabel(err, SystemOverloadedError) && HasOwnLabel(err, RetryableError)
}

// HasOwnLabel reports whether an error has a label. Those of an error that it wraps count only if it says so: the error of a reply that
// could not be decrypted may wrap that of the key vault's server.
func HasOwnLabel(err error, label string) bool {
	labeled, ok := err.(interface{ HasErrorLabel(string) bool })
	return ok && labeled.HasErrorLabel(label)
}

// HasLabelInChain reports whether the error, or the first that it wraps and that has labels at all, has the label.
func HasLabelInChain(err error, label string) bool {
	var labeled interface{ HasErrorLabel(string) bool }
	return errors.As(err, &labeled) && labeled.HasErrorLabel(label)
}

// LabelsInChain returns the labels of an error that does not export them, as HasLabelInChain tells them: all that decide about retries.
func LabelsInChain(err error) (labels []string) {
	for _, label := range []string{ // package driver, which has constants for them, imports this one
		"NetworkError", "TransientTransactionError", "UnknownTransactionCommitResult", "RetryableWriteError", "NoWritesPerformed",
		SystemOverloadedError, RetryableError,
	} {
		if HasLabelInChain(err, label) {
			labels = append(labels, label)
		}
	}
	return labels
}
