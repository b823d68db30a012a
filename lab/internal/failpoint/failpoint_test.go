package failpoint

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// bench is a handler before a backend that answers {ok: 1}.
type bench struct {
	*Handler
	draws     []float64       // what Random returns next
	waits     []time.Duration // what was waited
	waitError error
	forwarded []string // the commands that reached the backend
	backend   bson.D   // its reply
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{backend: bson.D{{Key: "ok", Value: 1}}}
	var err error
	b.Handler, err = New(Config{
		Random: func() float64 {
			draw := b.draws[0]
			b.draws = b.draws[1:]
			return draw
		},
		Wait: func(_ context.Context, d time.Duration) error {
			b.waits = append(b.waits, d)
			return b.waitError
		},
	})
	require.NoError(t, err)
	return b
}

func marshal(t testing.TB, doc bson.D) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(doc)
	require.NoError(t, err)
	return raw
}

func parse(t testing.TB, extJSON string) bson.D {
	t.Helper()
	var doc bson.D
	require.NoError(t, bson.UnmarshalExtJSON([]byte(extJSON), false, &doc))
	return doc
}

func request(t testing.TB, db, extJSON string) *proxy.Request {
	t.Helper()
	doc := append(parse(t, extJSON), bson.E{Key: "$db", Value: db})
	m := &wire.Message{Content: &wire.Msg{Body: marshal(t, doc)}}
	req, err := proxy.NewRequest(&proxy.Client{AppName: "app"}, m)
	require.NoError(t, err)
	return req
}

// run returns the reply, which is empty where the connection ended with the error.
func (b *bench) run(t testing.TB, db, extJSON string) (string, error) {
	t.Helper()
	return b.handle(t, request(t, db, extJSON))
}

func (b *bench) handle(t testing.TB, req *proxy.Request) (string, error) {
	var got bson.Raw
	take := func(m *wire.Message) error {
		got = m.Document()
		return wire.ValidateDocument(got)
	}
	next := func(_ context.Context, req *proxy.Request, reply proxy.ReplyFunc) error {
		b.forwarded = append(b.forwarded, req.Command)
		return reply(req.Answer(marshal(t, b.backend)))
	}
	err := b.Handle(t.Context(), req, take, next)
	var doc bson.D
	if got != nil {
		require.NoError(t, bson.Unmarshal(got, &doc))
	}
	if len(doc) == 0 {
		return "", err
	}
	text, marshalErr := bson.MarshalExtJSON(doc, false, false)
	require.NoError(t, marshalErr)
	return string(text), err
}

// set configures a fail point, and returns how often it had been taken.
func (b *bench) set(t testing.TB, name, mode, data string) {
	t.Helper()
	reply, err := b.run(t, "admin", `{"configureFailPoint": "`+name+`", "mode": `+mode+`, "data": `+data+`}`)
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
		`{"skip": 3}`:                       "...XX",
		`{"skip": 0}`:                       "XXXXX",
		`{"times": {"$numberDouble": "1"}}`: "X....",
		`{"activationProbability": 0.5}`:    "X..X.", // with the draws below
		`{"activationProbability": 0}`:      ".....",
		`{"activationProbability": 1}`:      "XXXXX",
	} {
		t.Run(mode, func(t *testing.T) {
			b := newBench(t)
			b.draws = []float64{0.49, 0.5, 0.9, 0, 0.99}
			b.set(t, failCommandName, mode, `{"failCommands": ["ping"], "errorCode": 10107}`)
			got := ""
			for range 5 {
				_, err := b.run(t, "admin", `{"hello": 1}`) // not matched, so not counted
				require.NoError(t, err)
				reply, err := b.run(t, "admin", `{"ping": 1}`)
				require.NoError(t, err)
				switch reply {
				case passed:
					got += "."
				case failed:
					got += "X"
				}
			}
			assert.Equal(t, want, got)
		})
	}
}

func TestCount(t *testing.T) {
	b := newBench(t)
	count := func() string {
		reply, err := b.run(t, "admin", `{"configureFailPoint": "failCommand", "mode": {"times": 2}, "data": {"failCommands": ["ping"]}}`)
		require.NoError(t, err)
		return reply
	}
	assert.Equal(t, `{"count":0,"ok":1.0}`, count())
	_, _ = b.run(t, "admin", `{"ping": 1}`)
	assert.Equal(t, `{"count":1,"ok":1.0}`, count())
	for range 5 {
		_, _ = b.run(t, "admin", `{"ping": 1}`)
	}
	assert.Equal(t, `{"count":3,"ok":1.0}`, count())
}

func TestMatching(t *testing.T) {
	for name, tt := range map[string]struct {
		data, db, command string
		fails             bool
	}{
		"command":            {`"failCommands": ["a", "ping"]`, "admin", `{"ping": 1}`, true},
		"other command":      {`"failCommands": ["a"]`, "admin", `{"ping": 1}`, false},
		"no command":         {`"failCommands": []`, "admin", `{"ping": 1}`, false},
		"case":               {`"failCommands": ["PING"]`, "admin", `{"ping": 1}`, false},
		"alias":              {`"failCommands": ["ismaster"]`, "admin", `{"isMaster": 1}`, true},
		"old name":           {`"failCommands": ["findAndModify"]`, "d", `{"findandmodify": "c"}`, true},
		"hello is its own":   {`"failCommands": ["isMaster"]`, "admin", `{"hello": 1}`, false},
		"itself":             {`"failCommands": ["configureFailPoint"]`, "admin", `{"configureFailPoint": "x"}`, false},
		"application":        {`"failCommands": ["ping"], "appName": "app"`, "admin", `{"ping": 1}`, true},
		"other application":  {`"failCommands": ["ping"], "appName": "apple"`, "admin", `{"ping": 1}`, false},
		"empty application":  {`"failCommands": ["ping"], "appName": ""`, "admin", `{"ping": 1}`, false},
		"namespace":          {`"failCommands": ["find"], "namespace": "d.c"`, "d", `{"find": "c"}`, true},
		"other namespace":    {`"failCommands": ["find"], "namespace": "d.x"`, "d", `{"find": "c"}`, false},
		"namespace, getMore": {`"failCommands": ["getMore"], "namespace": "d.c"`, "d", `{"getMore": 1, "collection": "c"}`, true},
		"database":           {`"failCommands": ["dbStats"], "namespace": "d"`, "d", `{"dbStats": 1}`, true},
		"internal":           {`"failCommands": ["ping"], "failInternalCommands": false`, "admin", `{"ping": 1}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.set(t, failCommandName, `"alwaysOn"`, `{"errorCode": 10107, `+tt.data+`}`)
			reply, err := b.run(t, tt.db, tt.command)
			require.NoError(t, err)
			assert.Equal(t, tt.fails, reply == failed, reply)
		})
	}
}

func TestBlockConnection(t *testing.T) {
	b := newBench(t)
	b.set(t, failCommandName, `"alwaysOn"`, `{"failCommands": ["ping"], "blockConnection": true, "blockTimeMS": 50}`)
	reply, err := b.run(t, "admin", `{"ping": 1}`)
	require.NoError(t, err)
	assert.Equal(t, passed, reply)

	b.set(t, failCommandName, `"alwaysOn"`, `{"failCommands": ["ping"], "blockConnection": true, "blockTimeMS": 70, "errorCode": 10107}`)
	reply, err = b.run(t, "admin", `{"ping": 1}`)
	require.NoError(t, err)
	assert.Equal(t, failed, reply)

	b.waitError = errors.New("gone")
	_, err = b.run(t, "admin", `{"ping": 1}`)
	assert.ErrorIs(t, err, b.waitError)
	b.set(t, failCommandName, `"alwaysOn"`, `{"failCommands": ["ping"], "blockConnection": false, "blockTimeMS": 90}`)
	_, err = b.run(t, "admin", `{"ping": 1}`)
	require.NoError(t, err)

	assert.Equal(t, []time.Duration{50e6, 70e6, 70e6}, b.waits)
	assert.Equal(t, []string{"ping", "ping"}, b.forwarded)
}

func TestCloseConnection(t *testing.T) {
	b := newBench(t)
	b.set(t, failCommandName, `{"times": 1}`, `{"failCommands": ["ping"], "closeConnection": true, "errorCode": 10107}`)
	reply, err := b.run(t, "admin", `{"ping": 1}`)
	assert.ErrorIs(t, err, proxy.ErrClose)
	assert.Empty(t, reply)
	assert.Empty(t, b.forwarded)
}

func TestErrorExtraInfo(t *testing.T) {
	b := newBench(t)
	b.set(t, failCommandName, `"alwaysOn"`, `{"failCommands": ["ping"], "errorCode": 91, "errorExtraInfo": {"remainingQuiesceTimeMillis": 5}}`)
	reply, err := b.run(t, "admin", `{"ping": 1}`)
	require.NoError(t, err)
	assert.Contains(t, reply, `"codeName":"ShutdownInProgress","remainingQuiesceTimeMillis":5}`)
}

func TestWriteConcernError(t *testing.T) {
	const fails = `{"failCommands": ["insert"], "writeConcernError": {"code": 91, "errmsg": "m"}`
	const insert = `{"insert": "c", "lsid": {"id": 1}, "txnNumber": 1}`
	b := newBench(t)
	for data, want := range map[string]string{
		fails + `}`:                         `{"ok":1,"n":1,"writeConcernError":{"code":91,"errmsg":"m"},"errorLabels":["RetryableWriteError"]}`,
		fails + `, "errorLabels": []}`:      `{"ok":1,"n":1,"writeConcernError":{"code":91,"errmsg":"m"}}`,
		fails + `, "errorLabels": ["own"]}`: `{"ok":1,"n":1,"writeConcernError":{"code":91,"errmsg":"m"},"errorLabels":["own"]}`,
	} {
		b.backend = bson.D{{Key: "ok", Value: 1}, {Key: "n", Value: 1}}
		b.set(t, failCommandName, `{"times": 1}`, data)
		reply, err := b.run(t, "d", insert)
		require.NoError(t, err)
		assert.Equal(t, want, reply)
	}
	assert.Len(t, b.forwarded, 3, "the write is done")
}

func TestNewRejects(t *testing.T) {
	_, err := New(Config{})
	assert.ErrorContains(t, err, "source of randomness")
}

func TestTimesAreCountedExactly(t *testing.T) {
	const chances, clients = 500, 20
	b := newBench(t)
	b.set(t, failCommandName, `{"times": 500}`, `{"failCommands": ["ping"], "closeConnection": true}`)
	var taken atomic.Int32
	var running sync.WaitGroup
	for range clients {
		running.Go(func() {
			req := request(t, "admin", `{"ping": 1}`)
			for range chances {
				err := b.Handle(t.Context(), req, nil, func(context.Context, *proxy.Request, proxy.ReplyFunc) error { return nil })
				if errors.Is(err, proxy.ErrClose) {
					taken.Add(1)
				}
			}
		})
	}
	running.Wait()
	assert.Equal(t, int32(chances), taken.Load())
}
