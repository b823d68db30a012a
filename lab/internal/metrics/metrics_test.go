package metrics

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

func request(t testing.TB, flags wire.MsgFlags, command ...bson.E) *proxy.Request {
	t.Helper()
	body, err := bson.Marshal(bson.D(command))
	require.NoError(t, err)
	req, err := proxy.NewRequest(&proxy.Client{}, &wire.Message{Content: &wire.Msg{Flags: flags, Body: body}})
	require.NoError(t, err)
	return req
}

// handle sends a request of which the replies are these, after a second, or the end is err.
func handle(t testing.TB, r *Recorder, req *proxy.Request, err error, replies ...bson.D) {
	t.Helper()
	got := r.Handler(0).Handle(context.Background(), req, func(*wire.Message) error { return nil },
		func(_ context.Context, req *proxy.Request, reply proxy.ReplyFunc) error {
			time.Sleep(time.Second)
			for _, doc := range replies {
				raw, err := bson.Marshal(doc)
				require.NoError(t, err)
				require.NoError(t, reply(req.Answer(raw)))
			}
			return err
		})
	assert.Equal(t, err, got)
}

func TestOutcomes(t *testing.T) {
	find := bson.E{Key: "find", Value: "c"}
	ok, failure := bson.D{{Key: "ok", Value: 1.0}}, bson.E{Key: "ok", Value: 0}
	overloaded := bson.E{Key: "errorLabels", Value: bson.A{"RetryableError", "SystemOverloadedError"}}
	for name, test := range map[string]struct {
		flags   wire.MsgFlags
		err     error
		replies []bson.D
		want    Counts
	}{
		"admitted":       {replies: []bson.D{ok}, want: Counts{Admitted: 1, Latency: time.Second}},
		"stream":         {replies: []bson.D{ok, ok, ok}, want: Counts{Admitted: 1, Latency: time.Second}},
		"by its code":    {replies: []bson.D{{failure, {Key: "code", Value: 462}}}, want: Counts{Rejected: 1, Latency: time.Second}},
		"by its label":   {replies: []bson.D{{failure, overloaded}}, want: Counts{Rejected: 1, Latency: time.Second}},
		"another error":  {replies: []bson.D{{failure, {Key: "code", Value: 91}}}, want: Counts{Errors: 1, Latency: time.Second}},
		"closed":         {err: proxy.ErrClose, want: Counts{Closed: 1}},
		"no reply":       {want: Counts{Closed: 1}},
		"unacknowledged": {flags: wire.MoreToCome, want: Counts{Admitted: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := New([]string{"h:1", "h:2"})
				handle(t, r, request(t, test.flags, find), test.err, test.replies...)
				test.want.Host, test.want.Command, test.want.Received = "h:1", "find", 1
				assert.Equal(t, []Counts{test.want}, r.Counts())
			})
		})
	}
}

// write is a retryable write of a session.
func write(t testing.TB, command string, session, number uint64, more ...bson.E) *proxy.Request {
	id := bson.Binary{Subtype: 4, Data: binary.BigEndian.AppendUint64(make([]byte, 8), session)}
	elements := []bson.E{
		{Key: command, Value: 1}, {Key: "lsid", Value: bson.D{{Key: "id", Value: id}}},
		{Key: "txnNumber", Value: int64(number)},
	}
	return request(t, 0, append(elements, more...)...)
}

func TestAttempts(t *testing.T) {
	a := newAttempts()
	transaction := bson.E{Key: "autocommit", Value: false}
	assert.Equal(t, 1, a.number(write(t, "insert", 1, 1)))
	assert.Equal(t, 2, a.number(write(t, "insert", 1, 1)))
	assert.Equal(t, 1, a.number(write(t, "insert", 1, 2)), "another operation")
	assert.Equal(t, 1, a.number(write(t, "insert", 2, 1)), "another session")
	assert.Equal(t, 3, a.number(write(t, "insert", 1, 1)))
	assert.Equal(t, unknownAttempt, a.number(write(t, "insert", 3, 1, transaction)), "there may be many in a transaction")
	assert.Equal(t, 1, a.number(write(t, "commitTransaction", 3, 1, transaction)))
	assert.Equal(t, 2, a.number(write(t, "commitTransaction", 3, 1, transaction)))
	assert.Equal(t, unknownAttempt, a.number(request(t, 0, bson.E{Key: "find", Value: "c"})))
	assert.Equal(t, unknownAttempt, a.number(request(t, 0, bson.E{Key: "x", Value: 1}, bson.E{Key: "txnNumber", Value: 1})))
	for range 2 * maxAttempts {
		a.number(write(t, "insert", 1, 1))
	}
	assert.Equal(t, maxAttempts, a.number(write(t, "insert", 1, 1)))
}

func TestMemoryIsBounded(t *testing.T) {
	a := newAttempts()
	for number := range uint64(maxOperations + 10) {
		a.number(write(t, "insert", 1, number))
		a.number(write(t, "insert", 2, 7)) // is seen all the time, and so not forgotten
	}
	assert.Len(t, a.byKey, maxOperations)
	assert.Equal(t, maxOperations, a.recent.Len())
	assert.Equal(t, 1, a.number(write(t, "insert", 1, 0)), "it has been forgotten")
	assert.Equal(t, maxAttempts, a.number(write(t, "insert", 2, 7)))

	r := New([]string{"h:1"})
	for i := range 2 * maxCommands {
		r.counters(fmt.Sprint("command", i), 0).received.Add(1)
	}
	assert.LessOrEqual(t, len(r.commands), maxCommands+1)
	assert.Positive(t, r.commands[otherCommand][0].received.Load())
}

func TestCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New([]string{"h:1"})
		for range 2 {
			handle(t, r, write(t, "insert", 1, 1), nil, bson.D{{Key: "ok", Value: 1}})
		}
		registry := prometheus.NewPedanticRegistry()
		require.NoError(t, registry.Register(r.Collector()))
		families, err := registry.Gather()
		require.NoError(t, err)
		text := ""
		for _, family := range families {
			text += family.String() + "\n"
		}
		for _, want := range []string{"lab_requests_total", "lab_outcomes_total", "lab_latency_seconds_total", "lab_attempts_total"} {
			assert.Equal(t, 1, strings.Count(text, want), want)
		}
	})
}

func TestTotal(t *testing.T) {
	all := []Counts{
		{Front: 0, Command: "find", Received: 3, Admitted: 1, Rejected: 1, Errors: 1, Latency: 5},
		{Front: 0, Command: "insert", Received: 2, Admitted: 1, Closed: 1, Latency: 1},
		{Front: 0, Command: "hello", Received: 100}, {Front: 1, Command: "find", Received: 9},
	}
	total := Total(all, 0)
	assert.Equal(t, Counts{Received: 5, Admitted: 2, Rejected: 1, Errors: 1, Closed: 1, Latency: 6}, total)
	assert.EqualValues(t, 4, total.Answered())
}
