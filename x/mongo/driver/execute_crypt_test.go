package driver_test

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// errKeyVault is how a command fails whose own find in the key vault is rejected by an overloaded server.
var errKeyVault error = &keyVaultError{driver.Error{
	Code: 462, Labels: []string{driver.ErrSystemOverloadedError, driver.ErrRetryableError, driver.NoWritesPerformed},
}}

type keyVaultError struct{ wrapped error }

func (*keyVaultError) Error() string   { return "no key" }
func (e *keyVaultError) Unwrap() error { return e.wrapped }

// crypt encrypts and decrypts nothing. It fails with the next errors.
type crypt struct {
	driver.Crypt
	encrypt, decrypt []error
	failing          func() // called before Encrypt fails
}

func (*crypt) BypassAutoEncryption() bool { return false }

func (c *crypt) Encrypt(_ context.Context, _ string, cmd bsoncore.Document) (bsoncore.Document, error) {
	err := next(&c.encrypt)
	if err != nil && c.failing != nil {
		c.failing()
	}
	return cmd, err
}

func (c *crypt) Decrypt(_ context.Context, reply bsoncore.Document) (bsoncore.Document, error) {
	return reply, next(&c.decrypt)
}

// next takes the first error; none is left to take of an empty list.
func next(errs *[]error) error {
	if len(*errs) == 0 {
		return nil
	}
	err := (*errs)[0]
	*errs = (*errs)[1:]
	return err
}

var anyKind = map[string]func(*scripted.Script) driver.Operation{
	"read":        (*scripted.Script).Read,
	"write":       (*scripted.Script).Write,
	"runCommand":  (*scripted.Script).Command,
	"transaction": (*scripted.Script).Transaction,
}

// TestExecuteUndecryptableReplyIsNoOverload is about commands that the server has executed: a getMore that is sent again skips
// documents, and anything else is done twice.
func TestExecuteUndecryptableReplyIsNoOverload(t *testing.T) {
	for name, op := range anyKind {
		op := op
		t.Run(name, func(t *testing.T) {
			s := scripted.New(t, scripted.OK())
			op := op(s)
			op.Crypt = &crypt{decrypt: []error{errKeyVault}}
			assert.Equal(t, errKeyVault, s.Execute(context.Background(), op))
			assert.Len(t, s.Sent, 1)
			assert.Empty(t, s.Slept)
		})
		t.Run(name+", retried", func(t *testing.T) {
			s := scripted.New(t, scripted.Rejected(), scripted.OK())
			op := op(s)
			op.Crypt = &crypt{decrypt: []error{errKeyVault}}
			err := s.Execute(context.Background(), op)
			assert.True(t, errors.Is(err, errKeyVault), "got %v, want the error of the attempt that was executed", err)
		})
	}
}

// TestExecuteRetryThatCannotBeBuilt returns the error that was to be retried after (retryable-reads.md, "Sending an
// equivalent command for a retry attempt").
func TestExecuteRetryThatCannotBeBuilt(t *testing.T) {
	for name, op := range anyKind {
		op := op
		t.Run(name, func(t *testing.T) {
			s := scripted.New(t, scripted.Overloaded())
			op := op(s)
			op.Crypt = &crypt{encrypt: []error{nil, errKeyVault}}
			var serverErr driver.Error
			err := s.Execute(context.Background(), op)
			require.True(t, errors.As(err, &serverErr), "got %T (%v), want a driver.Error", err, err)
			assert.Equal(t, "scripted", serverErr.Message)
		})
		t.Run(name+" in another client's time", func(t *testing.T) {
			s := scripted.New(t, scripted.Overloaded())
			op := op(s)
			op.Crypt = &crypt{encrypt: []error{nil, context.DeadlineExceeded}}
			err := s.Execute(context.Background(), op)
			assert.ErrorContains(t, err, "scripted")
			assert.False(t, errors.Is(err, context.DeadlineExceeded), "got %v, want no timeout", err)
		})
	}
}
