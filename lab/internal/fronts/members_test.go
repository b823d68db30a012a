package fronts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/handlertest"
	"mongofork/lab/internal/proxy"
)

// names are those of fronts by what two members are called, and by where they listen.
var names = map[string]string{"real:1": "front:1", "10.0.0.1:1": "front:1", "real:2": "front:2", "10.0.0.2:27017": "front:2"}

func marshal(t *testing.T, doc bson.D) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(doc)
	require.NoError(t, err)
	return raw
}

func TestRename(t *testing.T) {
	doc := marshal(t, bson.D{
		{Key: "hosts", Value: bson.A{"real:1", "real:2", "real:3"}}, {Key: "me", Value: "real:2"}, {Key: "ok", Value: 1.0},
		{Key: "data", Value: bson.Binary{Data: []byte("real:1")}},
	})
	want := marshal(t, bson.D{
		{Key: "hosts", Value: bson.A{"front:1", "front:2", "real:3"}}, {Key: "me", Value: "front:2"}, {Key: "ok", Value: 1.0},
		{Key: "data", Value: bson.Binary{Data: []byte("real:1")}},
	})
	got, err := rename(doc, names)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// handle passes a command to a member that answers with this reply, and returns what the client got.
func handle(t *testing.T, h proxy.Handler, command string, reply bson.D) bson.Raw {
	t.Helper()
	_, text, err := handlertest.Handle(t, h, handlertest.Request(t, "admin", command), reply)
	require.NoError(t, err)
	var got bson.Raw
	require.NoError(t, bson.UnmarshalExtJSON([]byte(text), false, &got))
	return got
}

// version is a topologyVersion.
func version(counter int64) bson.E {
	return bson.E{Key: versionField, Value: bson.D{{Key: "processId", Value: bson.ObjectID{1}}, {Key: "counter", Value: counter}}}
}

func counterOf(doc bson.Raw) int64 {
	counter, _ := doc.Lookup(versionField, "counter").AsInt64OK()
	return counter
}

func TestHello(t *testing.T) {
	for _, command := range []string{"hello", "isMaster", "ismaster"} {
		got := handle(t, &memberHandler{names: names}, `{"`+command+`": 1}`, bson.D{{Key: "me", Value: "real:1"},
			{Key: "primary", Value: "10.0.0.2:27017"}, version(7), {Key: "ok", Value: 1.0}})
		assert.Equal(t, "front:1", got.Lookup("me").StringValue(), command)
		assert.Equal(t, "front:2", got.Lookup("primary").StringValue(), "a member by its other address")
	}
}

func TestErrorsOfNoPrimaryTellTheVersion(t *testing.T) {
	notPrimary := bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: 10107}}
	h := &memberHandler{names: names}
	const find = `{"find": "c"}`
	assert.Empty(t, handle(t, h, find, notPrimary).Lookup(versionField), "nothing is known yet")

	handle(t, h, `{"hello": 1}`, bson.D{version(3), {Key: "ok", Value: 1.0}})
	for name, test := range map[string]struct {
		reply bson.D
		want  int64
	}{
		"not primary":   {notPrimary, 3},
		"its own":       {append(bson.D{version(9)}, notPrimary...), 9},
		"another error": {bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: 462}}, 0},
		"shutting down": {bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: 91}}, 0},
		"no error":      {bson.D{{Key: "ok", Value: 1.0}}, 0},
		"of a writeConcern": {bson.D{{Key: "ok", Value: 1.0}, {Key: "writeConcernError", Value: bson.D{{Key: "code", Value: 189}}}},
			3},
	} {
		assert.Equal(t, test.want, counterOf(handle(t, h, find, test.reply)), name)
	}
}
