package fronts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/handlertest"
)

// The soak and the demo take real members through the rest.
func TestMembersAreKnownAsTheirFronts(t *testing.T) {
	h := memberHandler{"real:1": "front:1", "real:2": "front:2"}
	given := bson.D{
		{Key: "hosts", Value: bson.A{"real:1", "real:2", "real:3"}}, {Key: "me", Value: "real:2"}, {Key: "ok", Value: 1},
		{Key: "data", Value: bson.Binary{Data: []byte("real:1")}},
	}
	for _, command := range []string{"hello", "isMaster", "ismaster"} {
		_, reply, err := handlertest.Handle(t, h.Handle, handlertest.Request(t, "admin", `{"`+command+`": 1}`), given)
		require.NoError(t, err)
		assert.JSONEq(t, `{"hosts": ["front:1", "front:2", "real:3"], "me": "front:2", "ok": 1,
			"data": {"$binary": {"base64": "cmVhbDox", "subType": "00"}}}`, reply)
	}
	_, reply, err := handlertest.Handle(t, h.Handle, handlertest.Request(t, "admin", `{"ping": 1}`), given)
	require.NoError(t, err)
	assert.Contains(t, reply, "real:1", "only a hello names members")
}
