package driver_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/logger"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/internal/throttle"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// throttled returns a script whose policy throttles, with servers that are known to reject everything, and those that are
// known to accept everything, a letter each. The jitter of 0.5 is what is drawn, so that the first withhold each attempt.
func throttled(t *testing.T, rejecting, accepting string, replies ...any) *scripted.Script {
	s := scripted.New(t, replies...)
	s.Policy.Throttling = throttle.All
	s.Throttles, s.Servers = map[address.Address]*throttle.Throttle{}, nil
	for _, host := range strings.Split(rejecting+accepting, "") {
		s.Servers = append(s.Servers, scripted.Server(host, description.ServerKindRSPrimary))
		keepRejecting(s, host, 0)
		if strings.Contains(rejecting, host) {
			reject(s, host, 9)
		}
	}
	return s
}

// keepRejecting gives a server a new throttle, and lets it reject everything for a time, after which none passes, so that nothing is sent
// because nothing else was.
func keepRejecting(s *scripted.Script, host string, age time.Duration) {
	now, jitter := time.Unix(1, 0), func() float64 { return s.Policy.Jitter() }
	s.Throttles[address.Address(host+":27017")] = throttle.New(func() time.Time { return now }, jitter, s.Policy.Throttling)
	for end := now.Add(age); now.Before(end); now = now.Add(100 * ms) {
		reject(s, host, 9)
	}
}

// reject tells the throttle of a server of rejected first attempts, both reads and writes.
func reject(s *scripted.Script, host string, n int) {
	s.Policy.NoteRejection()
	for i := 0; i < n; i++ {
		s.Throttles[address.Address(host+":27017")].Refused()
	}
}

// TestThrottledServersAreAvoided: if another suitable server does not refuse, the attempt goes there at once.
func TestThrottledServersAreAvoided(t *testing.T) {
	for _, tt := range []struct {
		name                              string
		rejecting, accepting, secondaries string
		rp                                *readpref.ReadPref
		want                              []address.Address // that the command is sent to
	}{
		{"the third of three", "ab", "c", "bc", readpref.Nearest(), []address.Address{"c:27017"}},
		{"all refuse", "abc", "", "bc", readpref.Nearest(), nil},
		{"a secondary is not suitable", "a", "b", "b", readpref.Primary(), nil},
		{"the primary is not as suitable as secondaries", "b", "a", "b", readpref.SecondaryPreferred(), nil},
	} {
		s := throttled(t, tt.rejecting, tt.accepting)
		s.Policy.Retarget, s.Rest = false, scripted.OK() // a retry would avoid the server, as after a rejection
		for i, server := range s.Servers {
			if strings.Contains(tt.secondaries, string(server.Addr[:1])) {
				s.Servers[i].Kind = description.ServerKindRSSecondary
			}
		}
		op := s.Read()
		op.ReadPreference = tt.rp
		err := s.Execute(context.Background(), op)
		var got []address.Address
		for _, sent := range s.Sent {
			got = append(got, sent.Server)
		}
		assert.Equal(t, tt.want, got, tt.name)
		assert.Equal(t, tt.want == nil, err != nil, "%s: %v", tt.name, err)
		assert.Equal(t, tt.want == nil, s.Slept != nil, tt.name)
	}
}

// TestWithheldSaysNothing: an attempt that is withheld says nothing of the server, whether another one takes it or not.
func TestWithheldSaysNothing(t *testing.T) {
	for others, replies := range map[string][]any{"": nil, "b": {scripted.OK()}} {
		s := throttled(t, "", "a"+others, replies...)
		known := s.Throttles["a:27017"]
		reject(s, "a", 10)
		for i := 0; i < 30; i++ {
			known.Ended(throttle.Attempt{First: true}, false, 0)
		}
		s.Policy.RetryReads = false
		s.Policy.Jitter = func() float64 { return 0 }
		before, _ := known.State(false)
		err := s.Execute(context.Background(), s.Read())
		require.Len(t, s.Sent, len(replies))
		assert.True(t, err == nil || strings.Contains(err.Error(), "it recently accepted 75 % of what this client sent"), "%v", err)
		after, accepted := known.State(false)
		assert.InDelta(t, before, after, 1e-9)
		assert.InDelta(t, 0.75, accepted, 1e-9)
	}
}

// slowReply is a reply that takes time, in which something else may happen.
type slowReply struct{ happens func() }

// MarshalBSON implements the bson.Marshaler interface.
func (r slowReply) MarshalBSON() ([]byte, error) {
	r.happens()
	return bson.Marshal(scripted.OK())
}

// TestThrottledRetriesThatComeTooLate: a retry is not sent if less time is left than the server recently took for a reply, unless nobody
// looked at a clock then, as nothing had been rejected, or the server may have waited for data or locks.
func TestThrottledRetriesThatComeTooLate(t *testing.T) {
	const took = 80 * time.Millisecond
	for name, tt := range map[string]struct {
		op       func(*scripted.Script) driver.Operation
		rejected bool // something, before the command is sent
		late     bool
	}{
		"a read":                     {op: (*scripted.Script).Read, rejected: true, late: true},
		"before the first rejection": {op: (*scripted.Script).Read},
		"a getMore":                  {op: nextBatch, rejected: true},
		"in a transaction":           {op: laterInTransaction, rejected: true},
	} {
		s := throttled(t, "", "a")
		s.Replies = []any{slowReply{func() {
			s.Elapsed += took
			reject(s, "a", 1)
		}}}
		if tt.rejected {
			reject(s, "a", 1)
		}
		require.NoError(t, s.Execute(context.Background(), tt.op(s)), name)
		soon := throttle.Attempt{Left: took - 1, Write: tt.op(s).Type == driver.Write}
		assert.Equal(t, tt.late, s.Throttles["a:27017"].Decide(soon) == throttle.TooLate, name)
	}

	for limit, late := range map[time.Duration]bool{time.Second: true, time.Hour: false} {
		s := throttled(t, "", "a")
		s.Replies = []any{slowReply{func() { s.Elapsed += 600 * ms }}, scripted.Overloaded()}
		reject(s, "a", 1)
		require.NoError(t, s.Read().Execute(context.Background()))
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		err := s.Execute(ctx, s.Read())
		cancel()
		hasCode(462)(t, err)
		retries := scripted.As[*event.RetryError](t, err)
		assert.Equal(t, late, retries.Reason == event.RetryReasonDeadline, "%v: %v", limit, retries)
		assert.Equal(t, late, retries.Throttled == 1, "%v: %v", limit, retries)
	}
}

// TestThrottledRetriesOfALastingOverload: after three seconds of an overload, what is withheld again fails.
func TestThrottledRetriesOfALastingOverload(t *testing.T) {
	s := throttled(t, "", "a")
	keepRejecting(s, "a", 4*time.Second)
	s.Throttles["a:27017"].Decide(throttle.Attempt{First: true}) // which is sent, as none was in the last second
	err := s.Execute(context.Background(), s.Read())
	want := &event.RetryError{Attempts: 2, Retries: 1, Throttled: 2, Backoff: 50 * ms, Reason: event.RetryReasonThrottled}
	assert.Equal(t, want, scripted.As[*event.RetryError](t, err))
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

// TestThrottledRetriesOfWhatContinues: what the server holds something for is sent. So are retries in a transaction, and those of a cursor
// until there is no token left; it then waits, however long the overload lasts.
func TestThrottledRetriesOfWhatContinues(t *testing.T) {
	for name, tt := range map[string]struct {
		op   func(*scripted.Script) driver.Operation
		sent int
	}{
		"getMore": {nextBatch, 1 + 10}, "in a transaction": {laterInTransaction, 1 + 50},
	} {
		s := throttled(t, "", "a")
		keepRejecting(s, "a", 4*time.Second)
		s.Policy.MaxRetries = 50
		s.Rest = scripted.Overloaded()
		err := s.Execute(context.Background(), tt.op(s))
		retries := scripted.As[*event.RetryError](t, err)
		assert.Equal(t, event.RetryReasonLimit, retries.Reason, "%s fails for what the server said, not because it was withheld", name)
		assert.Len(t, s.Sent, tt.sent, name)
		assert.Len(t, s.Slept, 50, name)
	}
}

// TestThrottlingAllocatesNothing: as long as nothing is rejected, neither the option nor a mark costs an allocation.
func TestThrottlingAllocatesNothing(t *testing.T) {
	ctx := context.Background()
	allocations(ctx, t, scripted.New(t))
	without := allocations(ctx, t, scripted.New(t))
	assert.InDelta(t, without, allocations(marked(event.CriticalityCritical), t, throttled(t, "", "a")), 0.5)
}

func marked(c event.Criticality) context.Context {
	return backpressure.WithCriticality(context.Background(), c)
}

// TestThrottledSelectionThatFails is about errors of the deployment, and of the selector of the operation.
func TestThrottledSelectionThatFails(t *testing.T) {
	s := throttled(t, "a", "b")
	s.OnSelect = func() error { return io.ErrNoProgress }
	assert.ErrorIs(t, s.Execute(context.Background(), s.Read()), io.ErrNoProgress)
	s = throttled(t, "a", "b")
	op := s.Read()
	op.Selector = &tiredSelector{left: 1}
	assert.ErrorIs(t, s.Execute(context.Background(), op), io.ErrNoProgress)
}

// tiredSelector selects any server, but only so often.
type tiredSelector struct{ left int }

func (o *tiredSelector) SelectServer(_ description.Topology, servers []description.Server) ([]description.Server, error) {
	if o.left--; o.left < 0 {
		return nil, io.ErrNoProgress
	}
	return servers, nil
}

// lasting returns a script without the option adaptiveThrottling, with a server that has rejected everything for a time, and servers that
// have accepted everything.
func lasting(t *testing.T, age time.Duration, accepting string, replies ...any) *scripted.Script {
	s := throttled(t, "", "a"+accepting, replies...)
	s.Policy.Throttling = throttle.Retries
	keepRejecting(s, "a", age)
	return s
}

const overloadLastsText = "overloadLasts: the server accepts so little that a retry would only take the place of another command"

// TestRetriesOfALastingOverload: without the option, first attempts are sent, and retries until the overload has lasted for a second. The
// command then ends with the server's error, and the RetryError, the events and the log line say why.
func TestRetriesOfALastingOverload(t *testing.T) {
	for _, tt := range []struct {
		name  string
		age   time.Duration
		op    func(*scripted.Script) driver.Operation
		reply any
		sent  int
	}{
		{"a read", 2 * time.Second, (*scripted.Script).Read, scripted.Overloaded(), 1},
		{"a write", 2 * time.Second, (*scripted.Script).Write, scripted.Rejected(), 1},
		{"a burst", time.Second, (*scripted.Script).Read, scripted.Overloaded(), 6},
		{"in a transaction", 2 * time.Second, laterInTransaction, scripted.Overloaded(), 6},
	} {
		s := lasting(t, tt.age, "")
		s.Rest, s.Policy.Bucket = tt.reply, retry.NewTokenBucket()
		r := record(s)
		sink := logTo(t, s, logger.LevelInfo)
		err := s.Execute(context.Background(), tt.op(s))
		hasCode(462)(t, err)
		assert.Len(t, s.Sent, tt.sent, tt.name)
		retries := scripted.As[*event.RetryError](t, err)
		if tt.sent == 6 {
			assert.Equal(t, event.RetryReasonLimit, retries.Reason, tt.name)
			continue
		}
		want := &event.RetryError{Attempts: 2, Retries: 1, Throttled: 1, Backoff: 50 * ms, Reason: event.RetryReasonOverloadLasts}
		assert.Equal(t, want, retries, tt.name)
		const text = "no further retry after 2 attempts, 1 of them withheld, and 50ms of backoff: " + overloadLastsText
		assert.ErrorContains(t, err, "("+text+")")
		assert.Equal(t, []string{
			"attempt 1: retry after 50ms, overloaded", "attempt 2: refused, overloadLasts",
			`failed: attempts 2, retries 1, backoff 50ms, "overloadLasts"`,
		}, r.lines(), tt.name)
		assert.Equal(t, 999.0, s.Policy.Bucket.Tokens(), "the retry that is refused takes no token")
		require.Equal(t, []string{refused}, sink.Lines, tt.name)
		assert.Equal(t, "overloadLasts", sink.Keys[0]["reason"], tt.name)
		assert.Equal(t, "(Throttled) withheld from a:27017, which is overloaded: it recently accepted 0 % of what this client sent, "+
			"so a retry would only take the place of another command", sink.Keys[0]["failure"], tt.name)
	}
}

// TestRetriesAfterRefusedConnections: what is not retried because the overload lasts has the error of the connection.
func TestRetriesAfterRefusedConnections(t *testing.T) {
	s := lasting(t, 2*time.Second, "", establishmentError{server: "a:27017", cause: io.EOF})
	err := s.Execute(context.Background(), s.Read())
	assert.True(t, errors.Is(err, io.EOF), "got %v", err)
	assert.Len(t, s.Slept, 1)
}

// TestRetriesOfOlderSpecifications: a retry after another error than a rejection is sent, however long the overload lasts.
func TestRetriesOfOlderSpecifications(t *testing.T) {
	s := lasting(t, 2*time.Second, "", io.EOF, scripted.OK())
	require.NoError(t, s.Execute(context.Background(), s.Read()))
	assert.Len(t, s.Sent, 2)
}

// TestOneOverloadedServer: a retry that is withheld from one server goes to another.
func TestOneOverloadedServer(t *testing.T) {
	s := lasting(t, 2*time.Second, "b", scripted.Overloaded(), scripted.OK())
	s.Policy.Retarget = false
	require.NoError(t, s.Execute(context.Background(), s.Read()))
	require.Len(t, s.Sent, 2)
}

// TestCommandAlone: two commands of a client that knows nothing have all retries, and so have both of its sides.
func TestCommandAlone(t *testing.T) {
	for name, scope := range map[string]throttle.Scope{"unset": throttle.Retries, "false": throttle.Nothing} {
		s := scripted.New(t)
		s.Policy.Throttling = scope
		s.Rest = scripted.Rejected()
		last := map[throttle.Scope]int{throttle.Retries: 19, throttle.Nothing: 24}[scope] // there is no token left
		for i, sent := range []int{6, 12, 18, last} {
			op := s.Read()
			if i == 1 {
				op = s.Write()
			}
			require.Error(t, s.Execute(context.Background(), op), name)
			assert.Len(t, s.Sent, sent, name)
		}
	}
}

// TestThrottledBehindRouters: routers and load balancers stand for many servers, so only retries are withheld from them. A load
// balancer is the one server there is, whatever its throttle says, and no selector is asked for another.
func TestThrottledBehindRouters(t *testing.T) {
	for topology, server := range map[description.TopologyKind]description.ServerKind{
		description.TopologyKindLoadBalanced: description.ServerKindLoadBalancer,
		description.TopologyKindSharded:      description.ServerKindMongos,
	} {
		s := throttled(t, "", "a", scripted.Overloaded())
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
		assert.Equal(t, 5, scripted.As[*event.RetryError](t, err).Throttled, "%v", topology)
		assert.Len(t, s.Sent, 1, "%v", topology)
		assert.Equal(t, backoffs, s.Slept, "%v", topology)
	}
}

func TestThrottledEvents(t *testing.T) {
	s := throttled(t, "a", "")
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

// TestThrottledClasses: operations are counted by their class, and the least critical are withheld first.
func TestThrottledClasses(t *testing.T) {
	for class, sent := range map[event.Criticality]int{event.CriticalityNormal: 6 + 1, event.CriticalityCritical: 6} {
		s := throttled(t, "", "a")
		s.Policy.RetryReads, s.Rest = false, scripted.Overloaded()
		for i := 0; i < 9; i++ { // which shows after six
			require.Error(t, s.Execute(marked(class), s.Read()))
		}
		require.Error(t, s.Execute(marked(event.CriticalityCritical), s.Read()))
		assert.Len(t, s.Sent, sent, "after operations of class %v", class)
	}
}

// TestThrottleLearnsOfPinnedCursors: behind a load balancer a cursor knows its server only as what processes errors.
func TestThrottleLearnsOfPinnedCursors(t *testing.T) {
	s := throttled(t, "", "a", scripted.OpenedCursor(), scripted.Failure(43))
	s.Topology, s.Servers[0].Kind = description.TopologyKindLoadBalanced, description.ServerKindLoadBalancer
	reject(s, "a", 1)
	assert.Error(t, getMore(openCursor(t, s, false)))
	_, accepted := s.Throttles["a:27017"].State(true)
	assert.InDelta(t, 1.0/2, accepted, 1e-9, "opening it was accepted, and getMore does not count")
}

// TestCriticalityIsTold: the class is in events, and in errors and lines unless it is normal. By itself it does nothing: every class is
// retried as the specification says.
func TestCriticalityIsTold(t *testing.T) {
	for _, class := range []event.Criticality{event.CriticalitySheddable, event.CriticalityNormal, event.CriticalityCritical} {
		s := scripted.New(t, scripted.Repeat(6, scripted.Overloaded())...)
		r := record(s)
		sink := logTo(t, s, logger.LevelDebug)
		err := s.Execute(marked(class), s.Read())
		require.Len(t, r.decided, 6)
		for _, e := range r.decided {
			assert.Equal(t, class, e.Criticality)
		}
		require.Len(t, r.finished, 1)
		assert.Equal(t, class, r.finished[0].Criticality)
		assert.Equal(t, class, scripted.As[*event.RetryError](t, err).Criticality)
		assert.Len(t, sink.Keys, 7)
		for _, keys := range sink.Keys {
			got, found := keys["criticality"]
			assert.Equal(t, class != event.CriticalityNormal, found)
			assert.True(t, !found || got == class.String(), "%v: %v", class, got)
		}
	}
}
