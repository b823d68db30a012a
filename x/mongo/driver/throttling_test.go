package driver_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// throttled returns a script whose policy throttles, with servers that are known to reject everything, and those that are
// known to accept everything. The jitter of 0.5 is what is drawn, so that the first refuse each attempt.
func throttled(t *testing.T, replies []any, rejecting []string, accepting ...string) *scripted.Script {
	s := scripted.New(t, replies...)
	rule := throttling()
	s.Policy.Throttling = &rule
	s.Throttles = map[address.Address]*retry.Throttle{}
	s.Servers = nil
	for _, host := range append(append([]string{}, rejecting...), accepting...) {
		server := scripted.Server(host, description.ServerKindRSPrimary)
		s.Servers = append(s.Servers, server)
		s.Throttles[server.Addr] = newThrottle()
	}
	for _, host := range rejecting {
		reject(s, host, 9)
	}
	return s
}

// throttling is the rule without trials, which would be sent whatever a server rejects, for a client that is known to send much.
func throttling() retry.Throttling {
	rule := retry.DefaultThrottling()
	rule.Exemption.Trials = 0
	rule.Little = time.Hour
	return rule
}

func newThrottle() *retry.Throttle {
	now := time.Unix(1, 0)
	return retry.NewThrottle(throttling(), func() time.Time { return now })
}

func reject(s *scripted.Script, host string, n int) {
	s.Policy.NoteRejection()
	for i := 0; i < n; i++ {
		s.Throttles[address.Address(host+":27017")].Ended(retry.Attempt{}, true)
	}
}

func TestNeverThrottled(t *testing.T) {
	tests := map[string]func(*testing.T, *scripted.Script) driver.Operation{
		"commitTransaction": func(t *testing.T, s *scripted.Script) driver.Operation {
			op := s.Transaction()
			require.NoError(t, op.Client.ApplyCommand(s.Servers[0]))
			op.Client.Committing = true
			return op
		},
		"abortTransaction": func(t *testing.T, s *scripted.Script) driver.Operation {
			op := s.Transaction()
			require.NoError(t, op.Client.ApplyCommand(s.Servers[0]))
			op.Client.Aborting = true
			return op
		},
		"the second command of a transaction": func(_ *testing.T, s *scripted.Script) driver.Operation {
			return laterInTransaction(s)
		},
		"getMore": func(_ *testing.T, s *scripted.Script) driver.Operation { return nextBatch(s) },
		"killCursors": func(_ *testing.T, s *scripted.Script) driver.Operation {
			op := s.Command()
			op.Legacy = driver.LegacyKillCursors
			return op
		},
		"endSessions": func(_ *testing.T, s *scripted.Script) driver.Operation {
			op := s.Command()
			op.Name = driverutil.EndSessionsOp
			return op
		},
		"an unacknowledged write": func(_ *testing.T, s *scripted.Script) driver.Operation {
			op := s.Command()
			op.Type = driver.Write
			op.WriteConcern = writeconcern.Unacknowledged()
			return op
		},
	}
	for name, op := range tests {
		op := op
		t.Run(name, func(t *testing.T) {
			s := throttled(t, []any{scripted.OK()}, []string{"a"})
			command := op(t, s)
			if !command.WriteConcern.Acknowledged() {
				s.Replies = nil
			}
			if err := s.Execute(context.Background(), command); err != driver.ErrUnacknowledgedWrite {
				require.NoError(t, err)
			}
			assert.Len(t, s.Sent, 1)
			assert.Empty(t, s.Slept)
		})
	}
}

// TestThrottledServersAreAvoided: if another suitable server does not refuse, the attempt goes there at once.
func TestThrottledServersAreAvoided(t *testing.T) {
	tests := []struct {
		name      string
		rejecting []string
		accepting []string
		mode      readpref.Mode
		secondary []string
		want      address.Address // that the command is sent to; empty for none
	}{
		{name: "the second of two", rejecting: []string{"a"}, accepting: []string{"b"}, mode: readpref.NearestMode,
			secondary: []string{"b"}, want: "b:27017"},
		{name: "the third of three", rejecting: []string{"a", "b"}, accepting: []string{"c"}, mode: readpref.NearestMode,
			secondary: []string{"b", "c"}, want: "c:27017"},
		{name: "all refuse", rejecting: []string{"a", "b", "c"}, mode: readpref.NearestMode, secondary: []string{"b", "c"}},
		{name: "a secondary is not suitable", rejecting: []string{"a"}, accepting: []string{"b"}, mode: readpref.PrimaryMode,
			secondary: []string{"b"}},
		{name: "the primary is not as suitable as secondaries", rejecting: []string{"b"}, accepting: []string{"a"},
			mode: readpref.SecondaryPreferredMode, secondary: []string{"b"}},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			s := throttled(t, nil, tt.rejecting, tt.accepting...)
			for i := range s.Servers {
				for _, host := range tt.secondary {
					if s.Servers[i].Addr == address.Address(host+":27017") {
						s.Servers[i].Kind = description.ServerKindRSSecondary
					}
				}
			}
			op := s.Read()
			var err error
			op.ReadPreference, err = readpref.New(tt.mode)
			require.NoError(t, err)
			if tt.want == "" {
				require.Error(t, s.Execute(context.Background(), op))
				assert.Empty(t, s.Sent)
				return
			}
			s.Replies = []any{scripted.OK()}
			require.NoError(t, s.Execute(context.Background(), op))
			require.Len(t, s.Sent, 1)
			assert.Equal(t, tt.want, s.Sent[0].Server)
			assert.Empty(t, s.Slept)
		})
	}
}

// TestRefusedAttemptsCount: an attempt that is refused was wanted from the server all the same, whether another one takes it or not.
func TestRefusedAttemptsCount(t *testing.T) {
	s := throttled(t, []any{scripted.OK()}, nil, "a", "b")
	s.Servers[1].Kind = description.ServerKindRSSecondary
	reject(s, "a", 20)
	before := s.Throttles["a:27017"].State()
	op := s.Read()
	var err error
	op.ReadPreference, err = readpref.New(readpref.NearestMode)
	require.NoError(t, err)
	require.NoError(t, s.Execute(context.Background(), op))
	require.Len(t, s.Sent, 1)
	require.Equal(t, address.Address("b:27017"), s.Sent[0].Server)
	after := s.Throttles["a:27017"].State()
	assert.True(t, after.Probability > before.Probability, "%v after %v", after, before)

	s = throttled(t, nil, []string{"a"})
	before = s.Throttles["a:27017"].State()
	require.Error(t, s.Execute(context.Background(), s.Read()))
	after = s.Throttles["a:27017"].State()
	assert.True(t, after.Probability > before.Probability, "%v after %v, with no other server", after, before)
}

// TestThrottleFloorOfFirstAttempts: a draw in the floor sends a first attempt, and no retry.
func TestThrottleFloorOfFirstAttempts(t *testing.T) {
	s := throttled(t, []any{scripted.Overloaded()}, nil, "a")
	s.Policy.Jitter = func() float64 { return 0.995 }
	reject(s, "a", 999)
	err := s.Execute(context.Background(), s.Read())
	hasCode(462)(t, err)
	assert.Len(t, s.Sent, 1, "the retries are refused")
	assert.Len(t, s.Slept, 5)
}

// TestThrottleLearns: rejections are counted, other errors are not, and neither is what nobody knows of.
func TestThrottleLearns(t *testing.T) {
	tests := []struct {
		name  string
		reply any
		op    func(*scripted.Script) driver.Operation
		want  float64 // the share that was not accepted, after one rejection before
	}{
		{name: "success", reply: scripted.OK(), op: (*scripted.Script).Read, want: 1.0 / 2},
		{name: "another error", reply: scripted.Failure(1), op: (*scripted.Script).Read, want: 1.0 / 2},
		{name: "a broken connection tells nothing", reply: io.ErrUnexpectedEOF, op: (*scripted.Script).Transaction, want: 1},
		{name: "nor does a timeout", reply: context.DeadlineExceeded, op: (*scripted.Script).Transaction, want: 1},
		{name: "a rejection", reply: scripted.Overloaded(), op: (*scripted.Script).Read, want: 1},
		{name: "nor does a query that the server admitted and then stopped",
			reply: scripted.Failure(473, driver.ErrSystemOverloadedError), op: (*scripted.Script).Read, want: 1},
		{name: "a rejected write concern", reply: overloadedWriteConcern, op: (*scripted.Script).Write, want: 1},
		{name: "a write without a reply", reply: nil, op: func(s *scripted.Script) driver.Operation {
			op := s.Command()
			op.Type, op.WriteConcern = driver.Write, writeconcern.Unacknowledged()
			return op
		}, want: 1},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			s := throttled(t, nil, nil, "a")
			if tt.reply != nil {
				s.Replies = []any{tt.reply}
			}
			s.Policy.RetryReads, s.Policy.RetryWrites = false, false
			s.Policy.Jitter = func() float64 { return 0.9 }
			reject(s, "a", 1)
			_ = s.Execute(context.Background(), tt.op(s))
			require.Len(t, s.Sent, 1)
			assert.InDelta(t, tt.want, s.Throttles["a:27017"].State().Rejected, 1e-9)
		})
	}
}

// slowReply is a reply that takes time, in which something else may happen.
type slowReply struct{ happens func() }

// MarshalBSON implements the bson.Marshaler interface.
func (r slowReply) MarshalBSON() ([]byte, error) {
	r.happens()
	return bson.Marshal(scripted.OK())
}

// TestThrottleReplyTime: how long a reply took counts, unless nobody looked at a clock when the command was sent, as nothing had been
// rejected, or the server may have waited for data or locks.
func TestThrottleReplyTime(t *testing.T) {
	const took = 80 * time.Millisecond
	for name, tt := range map[string]struct {
		op       func(*scripted.Script) driver.Operation
		rejected bool // something, before the command is sent
		want     time.Duration
	}{
		"a read":                     {op: (*scripted.Script).Read, rejected: true, want: took},
		"before the first rejection": {op: (*scripted.Script).Read},
		"a getMore":                  {op: nextBatch, rejected: true},
		"in a transaction":           {op: laterInTransaction, rejected: true},
	} {
		s := throttled(t, nil, nil, "a")
		s.Policy.Jitter = func() float64 { return 0.999 }
		s.Replies = []any{slowReply{func() {
			s.Elapsed += took
			reject(s, "a", 1)
		}}}
		if tt.rejected {
			reject(s, "a", 1)
		}
		require.NoError(t, s.Execute(context.Background(), tt.op(s)), name)
		assert.Equal(t, tt.want, s.Throttles["a:27017"].State().ReplyTime, name)
	}
}

func nextBatch(s *scripted.Script) driver.Operation {
	op := s.Command()
	op.Legacy = driver.LegacyGetMore
	return op
}

// laterInTransaction returns a command of a transaction that the server knows.
func laterInTransaction(s *scripted.Script) driver.Operation {
	op := s.Transaction()
	_ = op.Client.ApplyCommand(s.Servers[0])
	return op
}

// TestThrottledRetriesOfWhatGoesOn: the first attempt of a command for which the server holds something is sent; its retries are held
// back like others.
func TestThrottledRetriesOfWhatGoesOn(t *testing.T) {
	for name, op := range map[string]func(*scripted.Script) driver.Operation{
		"getMore": nextBatch, "in a transaction": laterInTransaction,
	} {
		s := throttled(t, []any{scripted.Overloaded()}, []string{"a"})
		require.Error(t, s.Execute(context.Background(), op(s)), name)
		assert.Len(t, s.Sent, 1, name)
		assert.Equal(t, backoffs, s.Slept, name)
	}
}

// TestWithoutThrottling: servers that have a throttle are not asked without the option.
func TestWithoutThrottling(t *testing.T) {
	s := throttled(t, []any{scripted.OK()}, []string{"a"})
	s.Policy.Throttling = nil
	require.NoError(t, s.Execute(context.Background(), s.Read()))
	assert.Len(t, s.Sent, 1)
}

// TestThrottledTransactionStarts: a transaction whose first command was held back has not begun, and begins with the retry.
func TestThrottledTransactionStarts(t *testing.T) {
	s := throttled(t, []any{scripted.OK()}, []string{"a"})
	s.OnSleep = func() { s.Throttles["a:27017"] = newThrottle() }
	require.NoError(t, s.Execute(context.Background(), s.Transaction()))
	require.Len(t, s.Sent, 1)
	start, err := s.Sent[0].Command.LookupErr("startTransaction")
	require.NoError(t, err)
	assert.Equal(t, bson.RawValue{Type: bson.TypeBoolean, Value: []byte{1}}, start)
}

// TestThrottlingAllocatesNothing: as long as nothing is rejected, neither the option nor a mark costs an allocation.
func TestThrottlingAllocatesNothing(t *testing.T) {
	allocations := func(throttling bool) float64 {
		s, ctx := throttled(t, nil, nil, "a"), marked(retry.Critical)
		if !throttling {
			s.Policy.Throttling, s.Throttles = nil, nil
			ctx = context.Background()
		}
		run := func() {
			s.Replies = append(s.Replies[:0], scripted.OK())
			s.Sent, s.Selected = s.Sent[:0], s.Selected[:0]
			require.NoError(t, s.Execute(ctx, s.Read()))
		}
		// Pools make the number vary by a part of one, which the whole numbers of testing.AllocsPerRun would show as one.
		const runs = 500
		run()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := 0; i < runs; i++ {
			run()
		}
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs-before.Mallocs) / runs
	}
	allocations(false)
	assert.InDelta(t, allocations(false), allocations(true), 0.5)
}

func marked(c retry.Criticality) context.Context {
	return backpressure.WithCriticality(context.Background(), c)
}
