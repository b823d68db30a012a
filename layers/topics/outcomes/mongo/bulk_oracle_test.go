package mongo

import (
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/version"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// failed reports whether a command was not executed in the end, as far as the client knows.
func (c *modelCommand) failed() bool { return c.told == nil }

// rejected reports whether nothing of a command can have been executed, because the server has rejected it.
func (c *modelCommand) rejected() bool { return c.failed() && c.last == "rejected" && !c.open }

// some reports whether something is so of any command of the call.
func (o oracle) some(is func(*modelCommand) bool) bool {
	for _, c := range o.commands {
		if is(c) {
			return true
		}
	}
	return false
}

// someExecuted reports whether the client knows that the server has executed a command of the call.
func (o oracle) someExecuted() bool { return o.some(func(c *modelCommand) bool { return !c.failed() }) }

// operation returns which of the call's operations sends a command. Only a BulkWrite of several kinds has more than one.
func (o oracle) operation(c *modelCommand) string {
	switch {
	case o.call != "BulkWrite of three kinds":
		return "the only one"
	case o.ordered: // each kind in turn has as many models as fit into a command
		return fmt.Sprint(c.writes)
	default:
		return c.kinds[0]
	}
}

// unsentOperations returns how many operations of the call have failed without sending a command, because the context had ended.
func (o oracle) unsentOperations() int {
	if o.call != "BulkWrite of three kinds" || o.ordered {
		return 0
	}
	sent := map[string]bool{}
	for _, c := range o.commands {
		sent[o.operation(c)] = true
	}
	all := 3
	if o.writes < all {
		all = o.writes
	}
	return all - len(sent)
}

// isCommandError reports whether the error has to be that of a command: nothing was executed, and there is no more to tell, because one
// command has failed, or those that failed were all rejected or not sent.
func (o oracle) isCommandError() bool {
	failures, others := o.unsentOperations(), 0
	for _, c := range o.commands {
		if c.failed() {
			failures++
			if !c.rejected() {
				others++
			}
		}
	}
	return !o.someExecuted() && (failures == 1 || others == 0)
}

// kind checks the error's type, exactly: that of a command if there is no more to tell, and else the exception of the API.
func (o oracle) kind(acknowledged) string {
	exception := "mongo.BulkWriteException"
	if strings.HasPrefix(o.call, "Client") {
		exception = "mongo.ClientBulkWriteException"
	}
	want := exception
	switch {
	case !o.told():
		want = "<nil>"
	case o.isCommandError():
		want = "mongo.CommandError"
		// Applications of v2.5.0 know the rejection of a Client.BulkWrite as an exception.
		if strings.HasPrefix(version.Driver, "2.5.") && strings.HasPrefix(o.call, "Client") && o.commands[0].rejected() {
			want = exception
		}
	}
	if got := fmt.Sprintf("%T", o.err); got != want {
		return fmt.Sprintf("the error is a %s, want a %s", got, want)
	}
	return ""
}

// told reports whether there is anything that an error has to tell.
func (o oracle) told() bool {
	return o.unsentOperations() > 0 || o.some(func(c *modelCommand) bool {
		return c.failed() || len(c.told.failed) > 0 || c.told.concern != 0 || c.results == "rejected" || c.results == "closed"
	})
}

// labels checks that the error has exactly the labels of its commands that are right for the call: if anything of it can have been
// executed, none says that the call can be made again, but that of a write whose reply was lost.
func (o oracle) labels(acknowledged) string {
	want := map[string]bool{}
	for _, c := range o.commands {
		for _, label := range o.labelsOf(c) {
			want[label] = true
		}
	}
	once := map[string]bool{}
	bulk, client := exceptionsIn(o.err)
	for _, label := range append(bulk.Labels, client.Labels...) {
		if once[label] {
			return "it has a label twice: " + label
		}
		once[label] = true
	}
	for _, label := range []string{
		driver.NetworkError, driver.TransientTransactionError, driver.UnknownTransactionCommitResult, driver.RetryableWriteError,
		driver.NoWritesPerformed, driver.ErrSystemOverloadedError, driver.ErrRetryableError, "Unsure",
	} {
		if got := errorHasLabel(o.err, label); got != want[label] {
			return fmt.Sprintf("it has the label %s: %v", label, got)
		}
	}
	return ""
}

// labelsOf returns the labels that the call's error has to have for a command.
func (o oracle) labelsOf(c *modelCommand) []string {
	var labels []string
	if c.told != nil && c.told.concern == 64 {
		labels = append(labels, "Unsure") // which the server says of it
	}
	switch {
	case c.rejected(), c.results == "rejected", c.last == "rejected" && c.told != nil:
		labels = append(labels, driver.ErrSystemOverloadedError)
		if o.isCommandError() {
			labels = append(labels, driver.ErrRetryableError, driver.NoWritesPerformed)
		}
	case c.results == "closed":
		labels = append(labels, driver.NetworkError)
		if o.way == "in a transaction" {
			labels = append(labels, driver.TransientTransactionError)
		}
	case c.last == "closed" && c.told != nil: // the retry was; the call must not be made again
		labels = append(labels, driver.NetworkError)
	case c.failed() && c.last == "stopped": // its label is the server's
		labels = append(labels, driver.RetryableWriteError)
	case c.failed() && c.last != "failed": // closed, perhaps before a rejection
		labels = append(labels, driver.NetworkError)
		switch o.way {
		case "in a transaction":
			labels = append(labels, driver.TransientTransactionError)
		case "retryWrites=false":
		default:
			labels = append(labels, driver.RetryableWriteError)
		}
	}
	return labels
}
