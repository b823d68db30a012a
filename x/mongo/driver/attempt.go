package driver

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// stage is how far an attempt got.
type stage uint8

const (
	// selecting: there was no server or no connection.
	selecting stage = iota
	// preparing: the command could not be built, or there was no time to send it. No policy retries that.
	preparing
	// sent: the server may have received it.
	sent
	// unauthenticated: the server wanted the connection to be reauthenticated, which failed.
	unauthenticated
)

// attempt is the result of an attempt to send a command.
type attempt struct {
	err   error
	stage stage
	cause retry.Cause // what failed it, once that has been classified
	// timeUp is whether the operation's context has ended it, or left no time to send it, once it has failed. The selection of a server
	// may end before that, by a timeout of its own, and so may a command for the keys of encryption.
	timeUp   bool
	foreign  bool // its command could not be built: a timeout may be one of a command for the keys of encryption
	withheld bool // the client did not send it, because the server would have rejected it

	requestID int32
	link      // empty if there was no connection
	address   address.Address
	desc      description.SelectedServer
	reply     bsoncore.Document

	retryEnabled bool // by the operation's RetryMode, which building the command may set
	moreToCome   bool // no reply will follow
}

// mayBeExecuted reports whether the command was sent and, unless it is a read, the server did not deny that it executed anything.
func (a *attempt) mayBeExecuted(read bool) bool {
	return a.stage == sent && (read || !a.hasLabel(NoWritesPerformed))
}

// executed reports whether a reply says that the server executed the command, perhaps with write errors or without the write concern.
func (a *attempt) executed() bool {
	if a.err == nil {
		return a.stage == sent && !a.moreToCome
	}
	_, ok := a.err.(WriteCommandError)
	return ok && a.stage == sent
}

// hasLabel reports whether the error is about this command, and has the label. The labels of a wrapped error are not its own: if a
// reply cannot be decrypted because the key vault is overloaded, the server has executed the command; and an error while a command is
// built never means a rejection.
func (a *attempt) hasLabel(label string) bool {
	return a.stage != preparing && backpressure.HasOwnLabel(a.err, label)
}

// tooLate reports whether there was no time to send it.
func (a *attempt) tooLate() bool { return a.timeUp && a.stage < sent }

// isContextError reports whether an error comes from the operation's deadline or cancellation.
func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
