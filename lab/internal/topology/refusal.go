package topology

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
)

// notPrimary returns the error that a secondary refuses a command with. From its topologyVersion clients see whether
// they know already that the member is a secondary.
func (v view) notPrimary(code int32, message string, doc bson.Raw) *answer.Error {
	return &answer.Error{
		Code: code, Message: message, Labels: answer.Labels(doc, code, 0, false),
		Extra: bson.D{{Key: versionField, Value: bson.Raw(v.version.document())}},
	}
}
