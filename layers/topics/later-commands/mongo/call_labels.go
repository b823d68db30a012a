package mongo

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// withoutCommandLabels returns the labels without those that are about one command: that nothing of it was executed, or that it can be sent
// again. The call that it belongs to has executed something, or may have. The specification's tests want RetryableWriteError on a call of
// which one command has an unknown outcome, though others were executed
// (retryable-writes/tests/unified/bulkWrite-serverErrors.yml).
func withoutCommandLabels(labels []string, keepRetryableWrite bool) []string {
	var kept []string
	for _, label := range labels {
		switch {
		case label == driver.ErrRetryableError, label == driver.NoWritesPerformed:
		case label == driver.RetryableWriteError && !keepRetryableWrite:
		default:
			kept = append(kept, label)
		}
	}
	return kept
}

// ofLaterCommand returns the error of a command as that of a call of which earlier commands were executed: without the labels that are only
// about the command.
func ofLaterCommand(err error) error {
	switch e := err.(type) {
	case CommandError:
		e.Labels = withoutCommandLabels(e.Labels, e.HasErrorLabel(driver.NetworkError)) // whose outcome is unknown
		return e
	case WriteException:
		e.Labels = withoutCommandLabels(e.Labels, false)
		return e
	case BulkWriteException, ClientBulkWriteException:
		return err // whose labels are the call's
	}
	var commandErr CommandError
	if errors.As(err, &commandErr) {
		return laterError{text: err.Error(), command: ofLaterCommand(commandErr)}
	}
	return err
}

// laterError is the error of a later command that had a text around it.
type laterError struct {
	text    string
	command error
}

func (e laterError) Error() string { return e.text }
func (e laterError) Unwrap() error { return e.command }
