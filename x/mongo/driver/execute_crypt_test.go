package driver_test

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
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
	see              func(ctx context.Context, name string) // that it is called
}

func (*crypt) BypassAutoEncryption() bool { return false }

func (c *crypt) Encrypt(ctx context.Context, _ string, cmd bsoncore.Document) (bsoncore.Document, error) {
	if c.see != nil {
		c.see(ctx, "Crypt.Encrypt")
	}
	return cmd, next(&c.encrypt)
}

func (c *crypt) Decrypt(ctx context.Context, reply bsoncore.Document) (bsoncore.Document, error) {
	if c.see != nil {
		c.see(ctx, "Crypt.Decrypt")
	}
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
		for _, replies := range [][]any{{scripted.OK()}, {scripted.Rejected(), scripted.OK()}} {
			s := scripted.New(t, replies...)
			op := op(s)
			op.Crypt = &crypt{decrypt: []error{errKeyVault}}
			err := s.Execute(context.Background(), op)
			assert.ErrorIs(t, err, errKeyVault, "%s: want the error of the attempt that was executed", name)
			assert.True(t, len(replies) > 1 || err == errKeyVault, "%s: %v", name, err)
			assert.Len(t, s.Slept, len(replies)-1, name)
		}
	}
}

// TestExecuteRetryThatCannotBeBuilt returns the error that was to be retried after (retryable-reads.md, "Sending an
// equivalent command for a retry attempt"), also if the time of another client than its own is up.
func TestExecuteRetryThatCannotBeBuilt(t *testing.T) {
	for name, op := range anyKind {
		for _, failure := range []error{errKeyVault, context.DeadlineExceeded} {
			s := scripted.New(t, scripted.Overloaded())
			op := op(s)
			op.Crypt = &crypt{encrypt: []error{nil, failure}}
			err := s.Execute(context.Background(), op)
			assert.Equal(t, "scripted", scripted.As[driver.Error](t, err).Message, name)
			assert.False(t, errors.Is(err, context.DeadlineExceeded), "%s: got %v, want no timeout", name, err)
		}
	}
}
