package driver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
)

// reauthentications is an authenticator that fails with these errors, one after the other; the last again and again.
type reauthentications struct {
	driver.Authenticator
	errs []error
	n    int
	cfg  *driver.AuthConfig // of the last one
	see  func(ctx context.Context, name string)
}

func (a *reauthentications) Reauth(ctx context.Context, cfg *driver.AuthConfig) error {
	if a.see != nil {
		a.see(ctx, "Authenticator.Reauth")
	}
	a.n++
	a.cfg = cfg
	if len(a.errs) == 1 {
		return a.errs[0]
	}
	return next(&a.errs)
}

// TestExecuteReauthentication is about reauthentications that fail or have to be repeated (auth.md, "Reauthentication").
func TestExecuteReauthentication(t *testing.T) {
	denied, late, expired := errors.New("denied"), context.DeadlineExceeded, scripted.Failure(391)
	// What package auth returns is an error of its own around the server's.
	rejected := fmt.Errorf("auth error: %w", driver.Error{
		Code: 462, Message: "rate exceeded", Labels: []string{driver.ErrSystemOverloadedError, driver.ErrRetryableError}, Raw: []byte{},
	})
	rejectedAndExpired := scripted.Failure(391, driver.ErrSystemOverloadedError, driver.ErrRetryableError)
	read, write := (*scripted.Script).Read, (*scripted.Script).Write

	for name, tt := range map[string]struct {
		op        func(*scripted.Script) driver.Operation
		noReads   bool
		replies   []any
		errs      []error
		n         int
		slept     []time.Duration
		want      string // of the error
		wraps     error
		code      int32
		overload  bool
		mayBeDone bool
	}{
		"fails": {op: read, replies: []any{expired}, errs: []error{denied}, n: 1, want: "error reauthenticating: denied", wraps: denied},
		"fails after a rejection": {op: read, replies: []any{scripted.Overloaded(), expired}, errs: []error{denied}, n: 1,
			slept: backoffs[:1], want: "error reauthenticating: denied", wraps: denied},
		"of a write": {op: write, replies: []any{scripted.Rejected(), expired}, errs: []error{denied}, n: 1,
			slept: backoffs[:1], want: "error reauthenticating: denied", wraps: denied},
		"fails after an attempt that may have been executed": {op: write, replies: []any{scripted.ShuttingDown(), expired}, n: 1,
			errs: []error{denied}, want: "scripted: no retry: error reauthenticating: denied", wraps: denied, code: 91, mayBeDone: true},
		"is closed after an attempt that may have been executed": {op: write, replies: []any{scripted.ShuttingDown(), expired}, n: 1,
			errs: []error{io.EOF}, want: "scripted: no retry: error reauthenticating: EOF", wraps: io.EOF, code: 91, mayBeDone: true},
		"has no time": {op: read, replies: []any{scripted.Overloaded(), expired}, errs: []error{late}, n: 1, slept: backoffs[:1],
			want: "error reauthenticating: context deadline exceeded", wraps: late},
		"has no time after an attempt that may have been executed": {op: write, replies: []any{scripted.ShuttingDown(), expired}, n: 1,
			errs: []error{late}, want: "scripted: no retry: error reauthenticating: " + late.Error(), wraps: late, code: 91, mayBeDone: true},
		"is rejected": {op: read, replies: []any{expired, expired, expired, scripted.OK()}, errs: []error{rejected, rejected, nil}, n: 3,
			slept: backoffs[:2]},
		"is rejected each time": {op: write, replies: scripted.Repeat(6, expired), errs: []error{rejected}, n: 6, slept: backoffs,
			want: "rate exceeded", code: 462, overload: true},
		"is rejected, with retryReads off": {op: read, noReads: true, replies: []any{expired}, errs: []error{rejected}, n: 1,
			want: "rate exceeded", code: 462, overload: true},
		"is wanted each time": {op: read, replies: scripted.Repeat(6, expired), n: 5, code: 391},
		"is wanted each time, with the labels of an overload": {op: read, replies: scripted.Repeat(6, rejectedAndExpired), n: 5,
			slept: backoffs, code: 391, overload: true},
	} {
		s := scripted.New(t, tt.replies...)
		s.Policy.RetryReads = !tt.noReads
		auth := &reauthentications{errs: tt.errs}
		op := tt.op(s)
		op.Authenticator, op.Clock, op.ServerAPI = auth, &session.ClusterClock{}, driver.NewServerAPIOptions("1")
		err := s.Execute(context.Background(), op)
		assert.Equal(t, tt.n, auth.n, name)
		assert.Equal(t, s.Servers[0].Addr, auth.cfg.Description.Addr, name)
		assert.Equal(t, op.ServerAPI, auth.cfg.ServerAPI, name)
		assert.True(t, auth.cfg.ClusterClock == op.Clock, name)
		assert.Equal(t, tt.slept, s.Slept, name)
		if tt.want == "" && tt.code == 0 {
			assert.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, tt.want, name)
		assert.True(t, tt.want == "" || strings.Count(err.Error(), tt.want) == 1, "%s: %v", name, err)
		failed := scripted.As[driver.Error](t, err)
		assert.Equal(t, tt.code, failed.Code, name)
		assert.Equal(t, tt.code != 0, failed.Raw != nil, name)
		assert.Equal(t, tt.overload, failed.HasErrorLabel(driver.ErrRetryableError), name)
		assert.Equal(t, tt.mayBeDone, failed.HasErrorLabel(driver.RetryableWriteError), name)
		assert.True(t, tt.wraps == nil || errors.Is(err, tt.wraps), "%s: %v", name, err)
	}
}

// severalSteps is an authenticator that sends two commands, as that of a human does.
type severalSteps struct{ driver.Authenticator }

func (severalSteps) Reauth(ctx context.Context, cfg *driver.AuthConfig) error {
	for _, step := range []string{"saslStart", "saslContinue"} {
		op := driver.Operation{
			CommandFn: scripted.Named(step), Database: "$external", Deployment: driver.SingleConnectionDeployment{C: cfg.Connection},
		}
		if err := op.Execute(ctx); err != nil {
			return err
		}
	}
	return nil
}

// TestExecuteReauthenticationOfSeveralSteps is about the first step, which must not give back the connection.
func TestExecuteReauthenticationOfSeveralSteps(t *testing.T) {
	s := scripted.New(t, scripted.Failure(391), scripted.OK(), scripted.OK(), scripted.OK())
	op := s.Read()
	op.Authenticator = severalSteps{}
	require.NoError(t, s.Execute(context.Background(), op))
	for i, sent := range s.Sent[:3] {
		assert.Equal(t, 1, sent.Connection, "command %d", i)
	}
}
