package trial

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// labels are those that applications may ask for.
var labels = []string{"RetryableWriteError", "TransientTransactionError", "UnknownTransactionCommitResult", "NoWritesPerformed",
	"SystemOverloadedError", "RetryableError", "ResumableChangeStreamError"}

// describe returns an error's text, and what helpers of package mongo and errors.Is tell from it.
func describe(err error) string {
	if err == nil {
		return "no error"
	}
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
	for _, label := range labels {
		if hasLabel(err, label) {
			found = append(found, label)
		}
	}
	return fmt.Sprintf("%T %q %s", err, err, strings.Join(found, ", "))
}

func hasLabel(err error, label string) bool {
	var labelled mongo.LabeledError
	return errors.As(err, &labelled) && labelled.HasErrorLabel(label)
}

// details returns what is told of the statements of a write, and of the labels.
func details(err error) (text string) {
	var command mongo.CommandError
	if errors.As(err, &command) {
		text += fmt.Sprintf(" command %d %s %q", command.Code, command.Name, command.Labels)
	}
	var bulk mongo.BulkWriteException
	if errors.As(err, &bulk) {
		for _, one := range bulk.WriteErrors {
			text += fmt.Sprintf(" %d %d of %T", one.Index, one.Code, one.Request)
		}
	}
	var client mongo.ClientBulkWriteException
	if errors.As(err, &client) {
		text += fmt.Sprintf(" %v", client.WriteErrors)
	}
	return text
}
