package driver

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

const (
	reauthenticationRequired = 391

	// maxReauthentications is how often connections are reauthenticated for one command, not counting failures. auth.md,
	// "Reauthentication", wants the error of the command that follows to be returned. But that may get another connection, whose
	// credential has expired, too.
	maxReauthentications = 5
)

// reauthenticate reauthenticates the connection if the server asks for it, and reports whether to send the command again at once. That
// counts as a retry under no policy, and the error is forgotten, because the server has not executed the command.
//
// If it fails, that is why the attempt has failed. An overloaded server that rejects it has rejected the command, which may then be
// retried.
func (ex *operationRun) reauthenticate(ctx context.Context, a *attempt) bool {
	serverErr, ok := a.err.(Error)
	if !ok || a.stage != sent || serverErr.Code != reauthenticationRequired || ex.op.Authenticator == nil || !isCheckedOut(a.conn) ||
		ex.cmd.reauthentications == maxReauthentications {
		return false
	}
	err := ex.op.Authenticator.Reauth(ctx, &AuthConfig{
		Description:  a.conn.Description(),
		Connection:   withoutClose(a.conn),
		ClusterClock: ex.op.Clock,
		ServerAPI:    ex.op.ServerAPI,
	})
	if err != nil {
		a.err, a.stage = asReauthenticationError(err), unauthenticated
		return false
	}
	ex.cmd.reauthentications++
	ex.strengthenCommit() // an earlier attempt may have been executed
	// One with the labels of an overload has a limit, and a backoff.
	return !backpressure.IsRetryableOverload(a.err)
}

// withoutClose returns the connection for commands that do not end it: each would return it to the pool, though it takes several to
// authenticate.
func withoutClose(conn *mnet.Connection) *mnet.Connection {
	kept := *conn
	kept.ReadWriteCloser = unclosed{conn.ReadWriteCloser}
	return &kept
}

type unclosed struct{ mnet.ReadWriteCloser }

func (unclosed) Close() error { return nil }

// asReauthenticationError returns the error of a command whose connection could not be reauthenticated. It has the code of the server's error,
// as applications ask for it.
func asReauthenticationError(err error) Error {
	var server Error
	errors.As(err, &server)
	err = reauthenticationError{err}
	return Error{
		Code: server.Code, Message: err.Error(), Labels: backpressure.LabelsInChain(err), Raw: server.Raw, Wrapped: err, repeats: true,
	}
}

// reauthenticationError is why a connection could not be reauthenticated.
type reauthenticationError struct{ cause error }

func (e reauthenticationError) Error() string { return "error reauthenticating: " + e.cause.Error() }
func (e reauthenticationError) Unwrap() error { return e.cause }
