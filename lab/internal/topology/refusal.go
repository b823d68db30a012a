package topology

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
)

// The codes of errors that concern a server's place in its deployment.
const (
	codeCommandNotFound          = 59
	codeNoReplication            = 76
	codeNotSecondary             = 95
	codePrimarySteppedDown       = 189
	codeNotWritablePrimary       = 10107
	codeInterruptedByStateChange = 11602
	codeNotPrimaryNoSecondaryOk  = 13435
	codeNotPrimaryOrSecondary    = 13436
	codeNoChangeStream           = 40573
)

// notPrimary returns the error that a secondary refuses a command with. From its topologyVersion clients see whether
// they know already that the member is a secondary.
func (v view) notPrimary(code int32, message string, doc bson.Raw) *answer.Error {
	return &answer.Error{
		Code: code, Message: message, Labels: retryLabels(doc),
		Extra: bson.D{{Key: versionField, Value: bson.Raw(v.version.document())}},
	}
}

// retryLabels returns the labels that a replica set's member puts on an error that does not concern the command as
// such: they say what is to be tried again.
func retryLabels(doc bson.Raw) []string {
	command := firstKey(doc)
	switch {
	case inTransaction(doc) && command != "commitTransaction" && command != "abortTransaction":
		return []string{answer.LabelTransientTransaction}
	case has(doc, "txnNumber"):
		return []string{answer.LabelRetryableWrite}
	default:
		return nil
	}
}
