package driver_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

func TestThrottledOperations(t *testing.T) {
	for name, op := range map[string]func(*scripted.Script) driver.Operation{
		"read":                   (*scripted.Script).Read,
		"write":                  (*scripted.Script).Write,
		"command":                (*scripted.Script).Command,
		"start of a transaction": (*scripted.Script).Transaction,
		"find": func(s *scripted.Script) driver.Operation {
			op := s.Read()
			op.Legacy = driver.LegacyFind
			return op
		},
	} {
		op := op
		t.Run(name, func(t *testing.T) {
			s := throttled(t, nil, []string{"a"})
			err := s.Execute(context.Background(), op(s))

			assert.Empty(t, s.Sent, "nothing is sent")
			assert.Equal(t, backoffs, s.Slept, "it backs off as after rejections")
			serverErr, ok := err.(driver.Error)
			require.True(t, ok, "got %T (%v)", err, err)
			assert.Equal(t, "(Throttled) withheld from a:27017, which is overloaded: it recently accepted 0 % of what "+
				"this client sent (adaptiveThrottling=true) (no further retry after 6 attempts, 6 of them withheld, and "+
				"1.55s of backoff: limit)",
				err.Error())
			assert.Equal(t, []string{driver.ErrSystemOverloadedError, driver.ErrRetryableError, driver.NoWritesPerformed},
				serverErr.Labels)
			var retries *event.RetryError
			require.True(t, errors.As(err, &retries))
			assert.Equal(t, &event.RetryError{
				Attempts: 6, Retries: 5, Throttled: 6, Backoff: 1550 * ms, Reason: "limit",
			}, retries)
		})
	}
}

// TestThrottledErrors: what a server has said is told before what the client has decided.
func TestThrottledErrors(t *testing.T) {
	closed := establishmentError{server: "a:27017", cause: io.EOF}
	tests := []struct {
		name  string
		op    func(*scripted.Script) driver.Operation
		reply any
		code  int32 // zero if nothing was sent
		sent  int
	}{
		{name: "a rejected read", op: (*scripted.Script).Read, reply: scripted.Overloaded(), code: 462, sent: 1},
		{name: "a rejected write", op: (*scripted.Script).Write, reply: scripted.Rejected(), code: 462, sent: 1},
		{name: "a write that may have been executed", op: (*scripted.Script).Write, reply: scripted.ShuttingDown(), code: 91,
			sent: 1},
		{name: "nothing", op: (*scripted.Script).Write, reply: nil, code: 0, sent: 0},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			s := throttled(t, nil, nil, "a")
			if tt.reply == nil {
				reject(s, "a", 9)
			} else {
				s.Replies = []any{tt.reply}
			}
			s.OnSleep = func() { reject(s, "a", 9) }
			if tt.code == 91 {
				// It is retried at once, after an accepted attempt; from then on the server rejects.
				s.Replies = append(s.Replies, scripted.Rejected())
				tt.sent = 2
			}
			err := s.Execute(context.Background(), tt.op(s))
			hasCode(tt.code)(t, err)
			assert.Len(t, s.Sent, tt.sent)
			var retries *event.RetryError
			require.True(t, errors.As(err, &retries))
			assert.Equal(t, event.RetryReasonLimit, retries.Reason)
			assert.Equal(t, retries.Attempts-tt.sent, retries.Throttled)
		})
	}
	t.Run("a connection that was closed", func(t *testing.T) {
		s := throttled(t, []any{closed}, nil, "a")
		s.OnSleep = func() { reject(s, "a", 9) }
		err := s.Execute(context.Background(), s.Read())
		assert.True(t, errors.Is(err, io.EOF), "got %v", err)
	})
}

// TestThrottledBehindRouters: routers and load balancers stand for many servers, so only retries are withheld from them. A load
// balancer is the one server there is, whatever its throttle says, and no selector is asked for another.
func TestThrottledBehindRouters(t *testing.T) {
	for topology, server := range map[description.TopologyKind]description.ServerKind{
		description.TopologyKindLoadBalanced: description.ServerKindLoadBalancer,
		description.TopologyKindSharded:      description.ServerKindMongos,
	} {
		t.Run(topology.String(), func(t *testing.T) {
			s := throttled(t, []any{scripted.Overloaded()}, nil, "a")
			s.Topology, s.Servers[0].Kind = topology, server
			reject(s, "a", 9)
			const most = 2 * 6 // selections of six attempts: the server, and the search for another
			selections := 0
			s.OnSelect = func() error {
				if selections++; selections > most {
					return errors.New("too many selections")
				}
				return nil
			}
			err := s.Execute(context.Background(), s.Read())
			var retries *event.RetryError
			require.True(t, errors.As(err, &retries), "got %v", err)
			assert.Equal(t, 5, retries.Throttled)
			assert.Len(t, s.Sent, 1)
			assert.Equal(t, backoffs, s.Slept)
		})
	}
}

func TestThrottledEvents(t *testing.T) {
	s := throttled(t, nil, []string{"a"})
	s.Policy.MaxRetries = 1
	r := record(s)
	op := s.Read()
	op.CommandMonitor = &event.CommandMonitor{Started: func(context.Context, *event.CommandStartedEvent) {
		t.Error("a command event of an attempt that was not sent")
	}}
	require.Error(t, s.Execute(context.Background(), op))

	assert.Equal(t, []string{
		"attempt 1: retry after 50ms, throttled", "attempt 2: refused, limit",
		`failed: attempts 2, retries 1, backoff 50ms, "limit"`,
	}, r.lines())
	for _, e := range r.decided {
		assert.Equal(t, address.Address("a:27017"), e.ServerAddress)
	}
	assert.Equal(t, 2, r.finished[0].Throttled)
}
