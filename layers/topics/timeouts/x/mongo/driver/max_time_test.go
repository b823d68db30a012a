package driver_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/csot"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
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
type slowCrypt struct {
	driver.Crypt
	ctx   *timed
	takes time.Duration
}

func (c *slowCrypt) BypassAutoEncryption() bool { return false }

func (c *slowCrypt) Encrypt(_ context.Context, _ string, cmd bsoncore.Document) (bsoncore.Document, error) {
	c.ctx.deadline = c.ctx.deadline.Add(-c.takes)
	return cmd, nil
}

func (c *slowCrypt) Decrypt(_ context.Context, reply bsoncore.Document) (bsoncore.Document, error) {
	return reply, nil
}

// TestMaxTimeAfterEncryption is about a command whose encryption takes most of its time, or all of it: what is left is for the server, and
// it is not sent if nothing is left (client-side-operations-timeout.md, "Command Execution").
func TestMaxTimeAfterEncryption(t *testing.T) {
	s, ctx := scripted.New(t, scripted.OK()), newTimed()
	op := s.Read()
	op.Crypt = &slowCrypt{ctx: ctx, takes: 9 * time.Hour}
	require.NoError(t, s.Execute(ctx, op))
	maxTimeMS := s.Field("maxTimeMS")[0].(int64)
	assert.LessOrEqual(t, maxTimeMS, time.Hour.Milliseconds())
	assert.Greater(t, maxTimeMS, (time.Hour / 2).Milliseconds())
	s, ctx = scripted.New(t), newTimed()
	op = s.Read()
	op.Crypt, op.Deployment = &slowCrypt{ctx: ctx, takes: 10 * time.Hour}, &forgetful{Script: s, stats: "two round trips"}
	err := s.Execute(ctx, op)
	assert.ErrorIs(t, err, driver.ErrDeadlineWouldBeExceeded)
	assert.ErrorContains(t, err, "(two round trips)")
	assert.Empty(t, s.Sent)
}

// TestMaxTimeOfOutputAggregates is about aggregates: those that write have a limit on the server, because they open no cursor that would
// live only as long.
func TestMaxTimeOfOutputAggregates(t *testing.T) {
	for _, writes := range []bool{false, true} {
		s := scripted.New(t, scripted.OK())
		op := s.Read()
		op.OmitMaxTimeMS, op.IsOutputAggregate = true, writes
		require.NoError(t, s.Execute(newTimed(), op))
		assert.Equal(t, writes, s.Field("maxTimeMS")[0] != nil, "writes: %v", writes)
	}
}

// forgetful is a deployment whose server is reset while a connection to it is established: its round trip times are lost.
type forgetful struct {
	*scripted.Script
	rtt   time.Duration
	stats string
}

func (f *forgetful) SelectServer(ctx context.Context, selector description.ServerSelector) (driver.Server, error) {
	server, err := f.Script.SelectServer(ctx, selector)
	return forgetfulServer{server, f}, err
}

type forgetfulServer struct {
	driver.Server
	of *forgetful
}

func (s forgetfulServer) Connection(ctx context.Context) (*mnet.Connection, error) {
	s.of.rtt = 0
	return s.Server.Connection(ctx)
}

func (s forgetfulServer) RTTMonitor() driver.RTTMonitor {
	return roundTrips{min: s.of.rtt, stats: s.of.stats}
}

type roundTrips struct {
	csot.ZeroRTTMonitor
	min   time.Duration
	stats string
}

func (r roundTrips) Min() time.Duration  { return r.min }
func (r roundTrips) EWMA() time.Duration { return r.min }
func (r roundTrips) Stats() string       { return r.stats }

// TestMaxTimeCountsTheSelectedServersRoundTrip is about a server that is reset after it was selected (client-side-operations-timeout.md,
// "Command Execution").
func TestMaxTimeCountsTheSelectedServersRoundTrip(t *testing.T) {
	s := scripted.New(t, scripted.OK())
	op := s.Read()
	op.Deployment = &forgetful{Script: s, rtt: 9 * time.Hour}
	require.NoError(t, s.Execute(newTimed(), op))
	assert.LessOrEqual(t, s.Field("maxTimeMS")[0].(int64), time.Hour.Milliseconds())
	s = scripted.New(t)
	op = s.Read()
	op.Deployment = &forgetful{Script: s, rtt: 11 * time.Hour}
	assert.ErrorIs(t, s.Execute(newTimed(), op), driver.ErrDeadlineWouldBeExceeded)
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
		require.NoError(t, s.Execute(ctx, s.Read()))
		assert.Equal(t, told, s.Field("maxTimeMS")[0] != nil)
	}
}
