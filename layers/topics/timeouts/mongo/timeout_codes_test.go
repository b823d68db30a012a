package mongo

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
)

// The three replies of a server that has run out of maxTimeMS, in the order of the specification's examples.
var maxTimeReplies = map[string]bson.D{
	"ok: 0":             scripted.Failure(50),
	"writeErrors":       scripted.OK(bson.E{Key: "n", Value: 0}, maxTimeWriteErrors, oneResult, madeIndex),
	"writeConcernError": scripted.OK(bson.E{Key: "n", Value: 1}, concernError(50), oneResult, madeIndex),
}

var maxTimeWriteErrors = bson.E{Key: "writeErrors", Value: bson.A{bson.D{
	{Key: "index", Value: 0}, {Key: "code", Value: 50}, {Key: "errmsg", Value: "scripted"},
}}}

// TestIsTimeoutAfterMaxTime lets the server run out of maxTimeMS in each method: whatever type the method's error is of, it is a timeout
// (client-side-operations-timeout.md, "Error Transformations").
func TestIsTimeoutAfterMaxTime(t *testing.T) {
	failed := map[string]int{}
	for _, method := range sendingMethods() {
		for in, reply := range maxTimeReplies {
			s := lasting(t, reply, method.replies...)
			err := method.run(bgCtx, scriptColl(t, s))
			if err == nil {
				assert.False(t, in == "ok: 0" && !method.silent, "%s: no error", method.name)
				continue
			}
			failed[in]++
			assert.True(t, IsTimeout(err), "%s, %s: %T: %v", method.name, in, err, err)
		}
	}
	assert.Greater(t, failed["ok: 0"], 60)
	assert.Greater(t, failed["writeErrors"], 40)
	assert.Greater(t, failed["writeConcernError"], 40)
}
