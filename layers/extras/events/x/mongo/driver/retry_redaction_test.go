package driver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/logger"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// TestRetryRedaction is about what a server says to sensitive commands: here always "scripted" (command-logging-and-monitoring.md,
// "Security").
func TestRetryRedaction(t *testing.T) {
	said := driver.Error{
		Code: 462, Name: "RateExceeded", Message: "scripted", Labels: []string{driver.ErrSystemOverloadedError, driver.ErrRetryableError},
		Raw: bsoncore.NewDocumentBuilder().Build(),
	}
	handshake := scripted.BrokenHandshake{Cause: said}
	// The server rejects the write concern.
	writeConcern := scripted.OK(bson.E{Key: "writeConcernError", Value: append(scripted.Failure(91)[1:3:3], bson.E{
		Key: "errorLabels", Value: bson.A{driver.ErrSystemOverloadedError, driver.ErrRetryableError},
	})})
	for name, tt := range map[string]struct {
		command   string
		replies   []any
		reauth    error
		cancelled bool
		shown     bool
		code      int32
	}{
		"another command":           {command: "find", replies: scripted.Repeat(6, scripted.Overloaded()), shown: true, code: 462},
		"a sensitive command":       {command: "createUser", replies: scripted.Repeat(6, scripted.Overloaded()), code: 462},
		"one that takes no retries": {command: "saslStart", replies: []any{scripted.Failure(462, driver.ErrSystemOverloadedError)}, code: 462},
		"its write concern":         {command: "updateUser", replies: scripted.Repeat(6, writeConcern), code: 91},
		"a hello":                   {command: "hello", replies: scripted.Repeat(6, scripted.Overloaded()), code: 462},
		"in the handshake":          {command: "find", replies: scripted.Repeat(6, handshake), code: 462},
		"in the handshake, and another error": {command: "find", replies: []any{handshake, scripted.ShuttingDown(), scripted.OK()},
			shown: true, code: 462},
		"in a reauthentication": {command: "find", replies: scripted.Repeat(6, scripted.Failure(391)), reauth: said, code: 462},
		"when time is up":       {command: "createUser", replies: []any{scripted.Overloaded()}, cancelled: true, code: 462},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		s := scripted.New(t, tt.replies...)
		if tt.cancelled {
			s.OnSleep = cancel
		}
		sink := logTo(t, s, logger.LevelDebug)
		r := record(s)
		op := s.Read()
		op.CommandFn = scripted.Named(tt.command)
		op.Authenticator = &reauthentications{errs: []error{tt.reauth}}
		_ = s.Execute(ctx, op)
		cancel()

		require.NotEmpty(t, r.decided, name)
		var told []string
		for _, e := range r.decided {
			told = append(told, fmt.Sprintf("%+v", e.Failure))
		}
		for _, e := range r.finished {
			var attempts *event.RetryError
			assert.True(t, tt.command != "createUser" || errors.As(e.Failure, &attempts), "%s: it does not tell its attempts", name)
			told = append(told, fmt.Sprintf("%+v", e.Failure))
		}
		for _, keys := range sink.keys {
			told = append(told, fmt.Sprint(keys["failure"]))
		}
		assert.Equal(t, tt.shown, strings.Contains(strings.Join(told, "\n"), "scripted"), "%s: %v", name, told)
		if first, ok := r.decided[0].Failure.(driver.Error); ok {
			assert.Equal(t, tt.code, first.Code, name)
			assert.True(t, first.HasErrorLabel(driver.ErrSystemOverloadedError), name)
		}
	}
}
