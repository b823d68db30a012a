package virtual

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/servererror"
)

// RequestRate is the rejection with code 462, both labels, and NoWritesPerformed.
var RequestRate = servererror.RequestRate

// Interrupted is the end of a running operation, with code 473 and SystemOverloadedError alone.
var Interrupted = servererror.Interrupted

// Fail returns the reply of a server for a command that failed, with the labels that a real one gives it.
func Fail(command Command, code int32) bson.Raw {
	failure := servererror.Errorf(code, "the command fails by plan")
	failure.Labels = servererror.Labels(command.Body, code, 0, false)
	return failure.Reply()
}

// WithConcern returns a reply with a write concern error, and the labels that a server gives it.
func WithConcern(command Command, reply bson.Raw, code int32) bson.Raw {
	if reply == nil {
		return nil
	}
	concern := bsondoc.D("code", code, "codeName", servererror.CodeName(code), "errmsg", "the write concern fails by plan")
	return servererror.WithConcern(reply, concern, servererror.Labels(command.Body, 0, code, false))
}
