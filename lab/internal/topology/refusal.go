package topology

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
)

// notPrimary returns the error with which a secondary refuses a command. Clients tell from its topologyVersion whether they
// already know that the member is a secondary.
func (v view) notPrimary(code int32, message string, doc bson.Raw) *answer.Error {
	return &answer.Error{
		Code: code, Message: message, Labels: answer.Labels(doc, code, 0, false),
		Extra: bson.D{{Key: versionField, Value: bson.Raw(v.version.document())}},
	}
}
