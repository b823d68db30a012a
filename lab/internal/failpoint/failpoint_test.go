package failpoint

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/handlertest"
	"mongofork/lab/internal/proxy"
)

// run returns a reply, before a backend that answers {ok: 1}. It is empty where the connection ended.
func run(t testing.TB, h *Handler, command string) string {
	t.Helper()
	passed, reply, err := handlertest.Handle(t, h.Handle, handlertest.Request(t, "admin", command), bson.D{{Key: "ok", Value: 1}})
	if reply == "" {
		require.ErrorIs(t, err, proxy.ErrClose)
		require.Nil(t, passed)
	}
	return reply
}

// set configures the fail point of a new handler.
func set(t testing.TB, mode, data string) *Handler {
	t.Helper()
	h := new(Handler)
	require.Contains(t, run(t, h, `{"configureFailPoint": "failCommand", "mode": `+mode+`, "data": {`+data+`}}`), `"ok":1.0`)
	return h
}

const (
	passed = `{"ok":1}`
	failed = `{"ok":0.0,"errmsg":"Failing command via 'failCommand' failpoint","code":10107,"codeName":"NotWritablePrimary"}`
)

func TestModes(t *testing.T) {
	for mode, want := range map[string]string{
		`"off"`:                             ".....",
		`"alwaysOn"`:                        "XXXXX",
		`{"times": 2}`:                      "XX...",
		`{"times": 0}`:                      ".....",
		`{"times": {"$numberDouble": "1"}}`: "X....",
	} {
		h, got := set(t, mode, `"failCommands": ["ping"], "errorCode": 10107`), ""
		for range 5 {
			assert.Equal(t, passed, run(t, h, `{"hello": 1}`), "not matched, so not counted")
			got += run(t, h, `{"ping": 1}`)
		}
		assert.Equal(t, want, strings.NewReplacer(failed, "X", passed, ".").Replace(got), mode)
	}
}

func TestData(t *testing.T) {
	const ping, insert, fails = `{"ping": 1}`, `{"insert": "c", "lsid": {"id": 1}, "txnNumber": 1}`, `"errorCode": 10107, "failCommands": `
	for data, test := range map[string]struct {
		command, want string
		takes         time.Duration
	}{
		fails + `["a", "ping"]`:              {ping, failed, 0},
		fails + `["a"]`:                      {ping, passed, 0},
		fails + `[]`:                         {ping, passed, 0},
		fails + `["isMaster"]`:               {`{"hello": 1}`, passed, 0},
		fails + `["configureFailPoint"]`:     {`{"configureFailPoint": "x"}`, passed, 0},
		fails + `["ping"], "appName": "app"`: {ping, failed, 0},
		fails + `["ping"], "appName": "ap"`:  {ping, passed, 0},
		fails + `["ping"], "appName": ""`:    {ping, passed, 0},

		`"failCommands": ["ping"], "blockConnection": true, "blockTimeMS": 50`:      {ping, passed, 50 * time.Millisecond},
		fails + `["ping"], "blockConnection": true, "blockTimeMS": 70`:              {ping, failed, 70 * time.Millisecond},
		`"failCommands": ["ping"], "blockConnection": false, "blockTimeMS": 90`:     {ping, passed, 0},
		fails + `["ping"], "closeConnection": true`:                                 {ping, "", 0},
		`"failCommands": ["insert"], "errorCode": 91`:                               {insert, `"ShutdownInProgress","errorLabels":["RetryableWriteError"]}`, 0},
		`"failCommands": ["insert"], "errorCode": 91, "errorLabels": []`:            {insert, `"ShutdownInProgress"}`, 0},
		`"failCommands": ["insert"], "errorCode": 91, "errorLabels": ["a", "b"]`:    {insert, `"errorLabels":["a","b"]}`, 0},
		`"failCommands": ["insert"], "writeConcernError": {"code": 91}`:             {insert, `{"ok":1,"writeConcernError":{"code":91},"errorLabels":["RetryableWriteError"]}`, 0},
		`"failCommands": ["insert"], "writeConcernError": {}, "errorLabels": ["x"]`: {insert, `{"ok":1,"writeConcernError":{},"errorLabels":["x"]}`, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			h, start := set(t, `"alwaysOn"`, data), time.Now()
			reply := run(t, h, test.command)
			assert.Equal(t, test.want, reply[max(0, len(reply)-len(test.want)):], data)
			assert.Equal(t, test.want == "", reply == "", data)
			assert.Equal(t, test.takes, time.Since(start), data)
		})
	}
}

// A refused command changes nothing.
func TestRefused(t *testing.T) {
	for command, want := range map[string]string{
		``:                            `mode is`,
		`, "mode": "on"`:              `give \"off\"`,
		`, "mode": {}`:                `mode is {}`,
		`, "mode": {"times": -1}`:     `BadValue`,
		`, "mode": {"skip": 1}`:       `BadValue`,
		`, "mode": "off", "data": []`: `TypeMismatch`,
		`, "mode": "off", "data": {"failCommands": "a"}`: `TypeMismatch`,
	} {
		h := set(t, `"alwaysOn"`, `"failCommands": ["ping"], "errorCode": 10107`)
		assert.Contains(t, run(t, h, `{"configureFailPoint": "failCommand"`+command+`}`), want, command)
		assert.Equal(t, failed, run(t, h, `{"ping": 1}`), command)
	}
	req := handlertest.Request(t, "d", `{"configureFailPoint": "failCommand"}`)
	passed, _, err := handlertest.Handle(t, new(Handler).Handle, req, bson.D{})
	require.NoError(t, err)
	assert.NotNil(t, passed, "of another database it is the backend's")
}
