package driver

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// reported returns an error as events and log lines about retries have it. What a server says to a sensitive command may repeat the
// secret: of such an error only the code, its name and the labels remain (command-logging-and-monitoring.md, "Security"). The commands
// that authenticate are sensitive, so what fails because of them is redacted, too.
func (ex *operationRun) reported(err error) error {
	said, ok := serverError(err)
	if !ok || !ex.sensitive() && !saidToAuthentication(err) {
		return err
	}
	redacted := Error{Code: said.Code, Name: said.Name, Message: "REDACTED", Labels: labelsOf(err)}
	if e, ok := err.(Error); ok {
		redacted.account = e.account
	}
	return redacted
}

// sensitive reports whether the command is sensitive. A hello counts as one that authenticates.
func (ex *operationRun) sensitive() bool {
	return ex.op.redactCommand(ex.op.Name, bsoncore.NewDocumentBuilder().AppendNull("speculativeAuthenticate").Build())
}

// saidToAuthentication reports whether the error is one of establishing or reauthenticating a connection.
func saidToAuthentication(err error) bool {
	var failed reauthenticationError
	return errors.As(err, &failed) || establishmentError(err) != nil
}

// serverError returns the first error in the chain that is a server's reply.
func serverError(err error) (Error, bool) {
	for ; err != nil; err = errors.Unwrap(err) {
		switch e := err.(type) {
		case Error:
			if e.Raw != nil {
				return e, true
			}
		case WriteCommandError:
			failed := Error{}
			if e.WriteConcernError != nil {
				failed.Code, failed.Name = int32(e.WriteConcernError.Code), e.WriteConcernError.Name
			}
			return failed, true
		}
	}
	return Error{}, false
}
