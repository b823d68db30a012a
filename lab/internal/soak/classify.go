package soak

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"mongofork/lab/internal/answer"
)

// labels are the error labels that tell an application what it may do, the most telling first.
var labels = [...]string{
	"SystemOverloadedError", "TransientTransactionError", "UnknownTransactionCommitResult", "ResumableChangeStreamError",
	"RetryableWriteError", "RetryableError", "NetworkError",
}

// classify names the kind of an error, and reports whether the driver's documentation names it for a deployment in trouble.
func classify(err error) (class string, documented bool) {
	var labelled mongo.LabeledError
	if errors.As(err, &labelled) {
		for _, label := range labels {
			if labelled.HasErrorLabel(label) {
				return label, true
			}
		}
	}
	var command mongo.ServerError
	if errors.As(err, &command) {
		for _, code := range stateChanges {
			if command.HasErrorCode(int(code)) {
				return answer.CodeName(code), true
			}
		}
	}
	if errors.As(err, &command) {
		for code, class := range passing {
			if command.HasErrorCode(code) {
				return class, true
			}
		}
	}
	var (
		selection topology.ServerSelectionError
		waiting   topology.WaitQueueTimeoutError
		pool      driver.RetryablePoolError
	)
	switch {
	case errors.As(err, &selection):
		return "server selection", true
	case errors.As(err, &waiting):
		return "wait queue", true
	case errors.As(err, &pool):
		return "connection pool", true
	case mongo.IsNetworkError(err):
		return "network", true
	case mongo.IsTimeout(err), errors.Is(err, context.DeadlineExceeded):
		return "timeout", true
	}
	return "", false
}

// passing are the errors that a server documents for what is lost with a member or not there yet: cursors that were open there,
// and the time to read at, which a member that has just started does not know.
var passing = map[int]string{43: "CursorNotFound", 237: "CursorKilled", 246: "SnapshotUnavailable"}

// stateChanges are the error codes of a member that is not, or no longer, in the role that the command needs.
var stateChanges = [...]int32{
	answer.CodeShutdownInProgress, answer.CodePrimarySteppedDown, answer.CodeNotWritablePrimary,
	answer.CodeInterruptedAtShutdown, answer.CodeInterruptedByStateChange, answer.CodeNotPrimaryNoSecondaryOk,
	answer.CodeNotPrimaryOrSecondary,
}
