package failpoint

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/handlertest"
	"mongofork/lab/internal/proxy"
)

// bench is a handler before a backend that answers {ok: 1}.
type bench struct {
	*Handler
	forwarded []string // the commands that reached the backend
	backend   bson.D   // its reply
}

func newBench() *bench { return &bench{Handler: New(false), backend: bson.D{{Key: "ok", Value: 1}}} }

// run returns the reply, which is empty where the connection ended with the error.
func (b *bench) run(t testing.TB, db, extJSON string) (string, error) {
	t.Helper()
	passed, reply, err := handlertest.Handle(t, b.Handle, handlertest.Request(t, db, extJSON), b.backend)
	if passed != nil {
		b.forwarded = append(b.forwarded, passed.Command)
	}
	return reply, err
}

// set configures a fail point.
func (b *bench) set(t testing.TB, mode, data string) {
	t.Helper()
	reply, err := b.run(t, "admin", `{"configureFailPoint": "failCommand", "mode": `+mode+`, "data": `+data+`}`)
	require.NoError(t, err)
	require.Contains(t, reply, `"ok":1.0`)
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
		`{"times": 2, "skip": 0}`:           "XX...",
		`{"times": 0}`:                      ".....",
		`{"times": {"$numberDouble": "1"}}`: "X....",
	} {
		b := newBench()
		b.set(t, mode, `{"failCommands": ["ping"], "errorCode": 10107}`)
		got := ""
		for range 5 {
			_, err := b.run(t, "admin", `{"hello": 1}`) // not matched, so not counted
			require.NoError(t, err)
			reply, err := b.run(t, "admin", `{"ping": 1}`)
			require.NoError(t, err)
			if reply == failed {
				got += "X"
			} else if reply == passed {
				got += "."
			}
		}
		assert.Equal(t, want, got, mode)
	}
}

func TestMatching(t *testing.T) {
	for name, tt := range map[string]struct {
		data, db, command string
		fails             bool
	}{
		"command":           {`"failCommands": ["a", "ping"]`, "admin", `{"ping": 1}`, true},
		"other command":     {`"failCommands": ["a"]`, "admin", `{"ping": 1}`, false},
		"no command":        {`"failCommands": []`, "admin", `{"ping": 1}`, false},
		"hello is its own":  {`"failCommands": ["isMaster"]`, "admin", `{"hello": 1}`, false},
		"itself":            {`"failCommands": ["configureFailPoint"]`, "admin", `{"configureFailPoint": "x"}`, false},
		"application":       {`"failCommands": ["ping"], "appName": "app"`, "admin", `{"ping": 1}`, true},
		"other application": {`"failCommands": ["ping"], "appName": "apple"`, "admin", `{"ping": 1}`, false},
		"empty application": {`"failCommands": ["ping"], "appName": ""`, "admin", `{"ping": 1}`, false},
	} {
		b := newBench()
		b.set(t, `"alwaysOn"`, `{"errorCode": 10107, `+tt.data+`}`)
		reply, err := b.run(t, tt.db, tt.command)
		require.NoError(t, err)
		assert.Equal(t, tt.fails, reply == failed, name)
	}
}

func TestBlockConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, start := newBench(), time.Now()
		for data, want := range map[string]string{
			`"blockConnection": true, "blockTimeMS": 50`:                     passed,
			`"blockConnection": true, "blockTimeMS": 70, "errorCode": 10107`: failed,
			`"blockConnection": false, "blockTimeMS": 90`:                    passed,
		} {
			b.set(t, `"alwaysOn"`, `{"failCommands": ["ping"], `+data+`}`)
			reply, err := b.run(t, "admin", `{"ping": 1}`)
			require.NoError(t, err)
			assert.Equal(t, want, reply)
		}
		assert.Equal(t, 120*time.Millisecond, time.Since(start))
	})
}

func TestCloseConnection(t *testing.T) {
	b := newBench()
	b.set(t, `{"times": 1}`, `{"failCommands": ["ping"], "closeConnection": true, "errorCode": 10107}`)
	reply, err := b.run(t, "admin", `{"ping": 1}`)
	assert.ErrorIs(t, err, proxy.ErrClose)
	assert.Empty(t, reply)
	assert.Empty(t, b.forwarded)
}

func TestErrors(t *testing.T) {
	const insert = `{"insert": "c", "lsid": {"id": 1}, "txnNumber": 1}`
	for data, want := range map[string]string{
		`"errorCode": 91`:                                         `"codeName":"ShutdownInProgress","errorLabels":["RetryableWriteError"]}`,
		`"errorCode": 91, "errorLabels": []`:                      `"codeName":"ShutdownInProgress"}`,
		`"errorCode": 91, "errorLabels": ["a", "b"]`:              `"codeName":"ShutdownInProgress","errorLabels":["a","b"]}`,
		`"writeConcernError": {"code": 91}`:                       `{"ok":1,"writeConcernError":{"code":91},"errorLabels":["RetryableWriteError"]}`,
		`"writeConcernError": {"code": 91}, "errorLabels": []`:    `{"ok":1,"writeConcernError":{"code":91}}`,
		`"writeConcernError": {"code": 91}, "errorLabels": ["x"]`: `{"ok":1,"writeConcernError":{"code":91},"errorLabels":["x"]}`,
	} {
		b := newBench()
		b.set(t, `"alwaysOn"`, `{"failCommands": ["insert"], `+data+`}`)
		reply, err := b.run(t, "d", insert)
		assert.NoError(t, err)
		assert.Contains(t, reply, want)
	}
}

// A refused command changes nothing.
func TestRefused(t *testing.T) {
	for command, want := range map[string]string{
		`"failCommand"`: `mode is`,
		`"failCommand", "mode": "on", "data": {}`:                          `give \"off\"`,
		`"failCommand", "mode": {}`:                                        `mode is {}`,
		`"failCommand", "mode": {"times": -1}`:                             `BadValue`,
		`"failCommand", "mode": {"skip": 1}`:                               `BadValue`,
		`"failCommand", "mode": "alwaysOn", "data": []`:                    `TypeMismatch`,
		`"failCommand", "mode": "alwaysOn", "data": {"failCommands": "a"}`: `TypeMismatch`,
		`"failCommand", "mode": "alwaysOn", "data": {"errorCode": "1"}`:    `TypeMismatch`,
	} {
		b := newBench()
		b.set(t, `"alwaysOn"`, `{"failCommands": ["ping"], "errorCode": 10107}`)
		reply, err := b.run(t, "admin", `{"configureFailPoint": `+command+`}`)
		require.NoError(t, err)
		assert.Contains(t, reply, want, command)
		reply, err = b.run(t, "admin", `{"ping": 1}`)
		require.NoError(t, err)
		assert.Equal(t, failed, reply, command)
	}
	b := newBench()
	_, err := b.run(t, "admin", `{"configureFailPoint": "other", "mode": "off"}`)
	require.NoError(t, err)
	_, err = b.run(t, "d", `{"configureFailPoint": "failCommand", "mode": "off"}`)
	require.NoError(t, err)
	assert.Len(t, b.forwarded, 2, "they are the backend's")
}
