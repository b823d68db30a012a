package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// describe returns an error's text, and what applications tell from it; nothing for nil.
func describe(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf("%T %q %s", err, err, properties(err))
}

// properties returns what helpers of package mongo and errors.Is tell from an error.
func properties(err error) string {
	var found []string
	if mongo.IsTimeout(err) {
		found = append(found, "timeout")
	}
	if mongo.IsNetworkError(err) {
		found = append(found, "network")
	}
	for _, target := range []error{context.DeadlineExceeded, context.Canceled, mongo.ErrClientDisconnected, mongo.ErrNoDocuments} {
		if errors.Is(err, target) {
			found = append(found, target.Error())
		}
	}
	for _, label := range []string{"RetryableWriteError", "TransientTransactionError", "UnknownTransactionCommitResult",
		"NoWritesPerformed", "SystemOverloadedError", "RetryableError", "ResumableChangeStreamError"} {
		if hasLabel(err, label) {
			found = append(found, label)
		}
	}
	return strings.Join(found, ", ")
}

func hasLabel(err error, label string) bool {
	var labelled mongo.LabeledError
	return errors.As(err, &labelled) && labelled.HasErrorLabel(label)
}

// details returns the fields of the errors of package mongo.
func details(err error) string {
	var text string
	var command mongo.CommandError
	if errors.As(err, &command) {
		text += fmt.Sprintf(" command %d %s %q raw %d", command.Code, command.Name, sorted(command.Labels), len(command.Raw))
	}
	var write mongo.WriteException
	if errors.As(err, &write) {
		text += fmt.Sprintf(" write %v %v %q", write.WriteErrors, write.WriteConcernError, sorted(write.Labels))
	}
	var bulk mongo.BulkWriteException
	if errors.As(err, &bulk) {
		text += fmt.Sprintf(" bulk %v %q", bulk.WriteConcernError, sorted(bulk.Labels))
		for _, one := range bulk.WriteErrors {
			text += fmt.Sprintf(" %d %d of %T", one.Index, one.Code, one.Request)
		}
	}
	var client mongo.ClientBulkWriteException
	if errors.As(err, &client) {
		text += fmt.Sprintf(" client bulk %v %v %v", client.WriteError, client.WriteConcernErrors, client.WriteErrors)
		if client.PartialResult != nil {
			text += fmt.Sprintf(" partial %+v", *client.PartialResult)
		}
	}
	return text
}

// sorted returns labels in order, each once.
func sorted(labels []string) []string { return slices.Compact(slices.Sorted(slices.Values(labels))) }
