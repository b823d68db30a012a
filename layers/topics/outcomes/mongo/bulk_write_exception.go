package mongo

import (
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// bulkFailure is what the exception of a call of several commands tells besides its exported fields: the errors of its commands, and
// what became of each write.
type bulkFailure struct {
	record   *bulkRecord
	commands []error
}

// is and as let errors.Is and errors.As find the errors of the commands, of which there may be several.
func (f bulkFailure) is(target error) bool {
	for _, err := range f.commands {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

func (f bulkFailure) as(target any) bool {
	for _, err := range f.commands {
		if errors.As(err, target) {
			return true
		}
	}
	return false
}

// message returns the message of an exception with those of the errors of commands that were not executed, but not twice what several of
// them say last.
func (f bulkFailure) message(message string) string {
	if len(f.commands) > 0 {
		message = strings.TrimSuffix(message, ": no causes") // which it says without write errors
	}
	for _, err := range f.commands {
		if text := strings.TrimSpace(err.Error()); !strings.HasSuffix(message, text) {
			message += ": " + text
		}
	}
	return message
}

// codes returns the codes of the commands' errors.
func (f bulkFailure) codes() []int {
	var codes []int
	for _, err := range f.commands {
		var commandErr CommandError
		if errors.As(err, &commandErr) {
			codes = append(codes, int(commandErr.Code))
		}
	}
	return codes
}

// BulkWriteException tells of all commands of the call.
//
// If a command was not executed, errors.As finds its CommandError, and errors.Is what that wraps. Labels are the exception's own: after
// a command was executed, none of them says that nothing was written, or that the call can be made again. BulkOutcome says which of its
// writes can be sent again.
//
//fork:extend the write concern error of one command hid that of another, and its errors the error of a third
type BulkWriteException struct {
	// The write concern errors of all commands of the call, of which WriteConcernError is the last.
	WriteConcernErrors []WriteConcernError

	failure bulkFailure
}

// Is lets errors.Is find what the errors of the call's commands wrap.
func (bwe BulkWriteException) Is(target error) bool { return bwe.failure.is(target) }

// As lets errors.As find the errors of the call's commands.
func (bwe BulkWriteException) As(target any) bool { return bwe.failure.as(target) }

func (bwe BulkWriteException) bulkRecord() *bulkRecord { return bwe.failure.record } // for BulkOutcome

// It also tells what the commands of the call did.
//
//fork:wrap it tells the write concern errors of all commands, and the errors of those that were not executed
func (bwe BulkWriteException) Error() string {
	message := bwe.upstreamError()
	if last := len(bwe.WriteConcernErrors) - 1; last > 0 {
		message += fmt.Sprintf(", earlier write concern errors: %s", joinConcernErrors(bwe.WriteConcernErrors[:last]))
	}
	return bwe.failure.message(message)
}

func joinConcernErrors(concernErrors []WriteConcernError) string {
	errs := make([]error, len(concernErrors))
	for i, err := range concernErrors {
		errs[i] = err
	}
	return joinBatchErrors(errs)
}

// It has the codes of all commands of the call.
//
//fork:wrap those of all write concern errors, and of commands that were not executed
func (bwe BulkWriteException) ErrorCodes() []int {
	codes := bwe.upstreamErrorCodes()
	if last := len(bwe.WriteConcernErrors) - 1; last > 0 {
		for _, concernErr := range bwe.WriteConcernErrors[:last] {
			codes = append(codes, concernErr.Code)
		}
	}
	return append(codes, bwe.failure.codes()...)
}

// It asks the errors of all commands of the call.
//
//fork:wrap all write concern errors, and those of commands that were not executed
func (bwe BulkWriteException) HasErrorMessage(message string) bool {
	return bwe.upstreamHasErrorMessage(message) ||
		bwe.hasOther(func(_ int, text string) bool { return strings.Contains(text, message) })
}

// It asks the errors of all commands of the call.
//
//fork:wrap all write concern errors, and those of commands that were not executed
func (bwe BulkWriteException) HasErrorCodeWithMessage(code int, message string) bool {
	return bwe.upstreamHasErrorCodeWithMessage(code, message) ||
		bwe.hasOther(func(c int, text string) bool { return c == code && strings.Contains(text, message) })
}

// hasOther reports whether an error meets the condition that is in none of the older fields: an earlier write concern error (the last is
// asked twice), or one of a command that was not executed.
func (bwe BulkWriteException) hasOther(meets func(code int, message string) bool) bool {
	for _, concernErr := range bwe.WriteConcernErrors {
		if meets(concernErr.Code, concernErr.Message) {
			return true
		}
	}
	for _, err := range bwe.failure.commands {
		var commandErr CommandError
		if errors.As(err, &commandErr) && meets(int(commandErr.Code), commandErr.Message) {
			return true
		}
	}
	return false
}

// ClientBulkWriteException tells of all commands of the call.
//
// If a command was not executed, or its results could not be read, WriteError is set, errors.As finds its CommandError, and errors.Is
// what that wraps. Labels are the exception's own: after a command was executed, none of them says that nothing was written, or that
// the call can be made again. BulkOutcome says which of its writes can be sent again.
//
//fork:extend it has labels, as the other exceptions have, and the errors of its commands
type ClientBulkWriteException struct {
	// The categories to which the exception belongs.
	Labels []string

	failure bulkFailure
}

// HasErrorLabel returns true if the error contains the specified label.
func (bwe ClientBulkWriteException) HasErrorLabel(label string) bool {
	for _, l := range bwe.Labels {
		if l == label {
			return true
		}
	}
	return false
}

// Is lets errors.Is find what the errors of the call's commands wrap.
func (bwe ClientBulkWriteException) Is(target error) bool { return bwe.failure.is(target) }

// As lets errors.As find the errors of the call's commands.
func (bwe ClientBulkWriteException) As(target any) bool { return bwe.failure.as(target) }

func (bwe ClientBulkWriteException) bulkRecord() *bulkRecord { return bwe.failure.record } // for BulkOutcome

// It also tells what the commands of the call did.
//
//fork:wrap it tells how often a command was tried
func (bwe ClientBulkWriteException) Error() string {
	if len(bwe.failure.commands) > 0 {
		bwe.WriteError = nil // which has the text of the last command's error
	}
	return bwe.failure.message(bwe.upstreamError())
}

// processWriteError converts the error of a write. Of one with Batches, it is that of the only one.
//
//fork:wrap an operation with Batches tells what each has done
func processWriteError(err error) (returnResult, error) {
	if batches, ok := err.(driver.BatchesError); ok {
		err = batches.Err
	}
	return upstreamProcessWriteError(err)
}
