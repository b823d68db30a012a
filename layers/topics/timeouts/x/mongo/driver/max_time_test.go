package driver_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// timed is a context whose deadline comes nearer while the test lets time pass.
type timed struct {
	context.Context
	deadline time.Time
}

func (ctx *timed) Deadline() (time.Time, bool) { return ctx.deadline, true }

func newTimed() *timed {
	return &timed{Context: context.Background(), deadline: time.Now().Add(10 * time.Hour)}
}

// slowCrypt takes hours to encrypt.
func slowCrypt(ctx *timed, takes time.Duration) driver.Crypt {
	return &crypt{see: func(_ context.Context, name string) {
		if name == "Crypt.Encrypt" {
			ctx.deadline = ctx.deadline.Add(-takes)
		}
	}}
}

// TestMaxTimeAfterEncryption is about a command whose encryption takes most of its time, or all of it: what is left is for the server, and
// it is not sent if nothing is left (client-side-operations-timeout.md, "Command Execution").
func TestMaxTimeAfterEncryption(t *testing.T) {
	s, ctx := scripted.New(t, scripted.OK()), newTimed()
	op := s.Read()
	op.Crypt = slowCrypt(ctx, 9*time.Hour)
	require.NoError(t, s.Execute(ctx, op))
	maxTimeMS := s.Field("maxTimeMS")[0].(int64)
	assert.LessOrEqual(t, maxTimeMS, time.Hour.Milliseconds())
	assert.Greater(t, maxTimeMS, (time.Hour / 2).Milliseconds())
	s, ctx = scripted.New(t), newTimed()
	op = s.Read()
	op.Crypt = slowCrypt(ctx, 10*time.Hour)
	err := s.Execute(ctx, op)
	assert.ErrorIs(t, err, driver.ErrDeadlineWouldBeExceeded)
	assert.ErrorContains(t, err, "(round trips of 0s)")
	assert.Empty(t, s.Sent)
}

// TestMaxTimeOfOutputAggregates: aggregates that write have a limit on the server, since they open no cursor that ends with it.
func TestMaxTimeOfOutputAggregates(t *testing.T) {
	for _, writes := range []bool{false, true} {
		s := scripted.New(t, scripted.OK())
		op := s.Read()
		op.OmitMaxTimeMS, op.IsOutputAggregate = true, writes
		require.NoError(t, s.Execute(newTimed(), op))
		assert.Equal(t, writes, s.Field("maxTimeMS")[0] != nil, "writes: %v", writes)
	}
}

// TestMaxTimeCountsTheSelectedServersRoundTrip is about a server that is reset while a connection to it is established, by which its round
// trip times are lost (client-side-operations-timeout.md, "Command Execution").
func TestMaxTimeCountsTheSelectedServersRoundTrip(t *testing.T) {
	run := func(rtt time.Duration, replies ...any) (*scripted.Script, error) {
		s := scripted.New(t, replies...)
		s.RTT, s.OnConnection = rtt, func() { s.RTT = 0 }
		return s, s.Execute(newTimed(), s.Read())
	}
	s, err := run(9*time.Hour, scripted.OK())
	require.NoError(t, err)
	assert.LessOrEqual(t, s.Field("maxTimeMS")[0].(int64), time.Hour.Milliseconds())
	s, err = run(11 * time.Hour)
	assert.ErrorIs(t, err, driver.ErrDeadlineWouldBeExceeded)
	assert.Empty(t, s.Sent)
}

// TestNoMaxTimeForMongocryptd is about the commands that mongocryptd marks: their encrypted form may have a maxTimeMS of its own, and must
// not have two (client-side-operations-timeout.md, "Client Side Encryption").
func TestNoMaxTimeForMongocryptd(t *testing.T) {
	for _, isCryptd := range []bool{false, true} {
		s := scripted.New(t, scripted.OK())
		s.Servers[0].IsCryptd = isCryptd
		require.NoError(t, s.Execute(newTimed(), s.Read()))
		assert.Equal(t, !isCryptd, s.Field("maxTimeMS")[0] != nil, "mongocryptd: %v", isCryptd)
	}
}

// TestDeadlineBeforeWriting is about a command that is built when its time is up: nothing is written, and the connection is given back
// (client-side-operations-timeout.md, "Command Execution").
func TestDeadlineBeforeWriting(t *testing.T) {
	s, ctx := scripted.New(t), newTimed()
	op := s.Read()
	op.OmitMaxTimeMS = true
	build := op.CommandFn
	op.CommandFn = func(dst []byte, desc description.SelectedServer) ([]byte, error) {
		ctx.deadline = time.Now().Add(-time.Second)
		return build(dst, desc)
	}
	assert.ErrorIs(t, s.Execute(ctx, op), driver.ErrDeadlineWouldBeExceeded)
	assert.Empty(t, s.Sent)
}

// TestOwnTimeIsNotTold is about a deadline that the driver sets for cleaning up: no command tells it to a server.
func TestOwnTimeIsNotTold(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	own, cancelOwn := backpressure.InOwnTime(ctx, time.Minute)
	defer cancelOwn()
	for ctx, told := range map[context.Context]bool{ctx: true, own: false} {
		s := scripted.New(t, scripted.OK())
		op := s.Read()
		op.Crypt = slowCrypt(newTimed(), 0)
		require.NoError(t, s.Execute(ctx, op))
		assert.Equal(t, told, s.Field("maxTimeMS")[0] != nil)
	}
}
