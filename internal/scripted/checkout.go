package scripted

import (
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// NoServer is a reply to no command: no server can be selected for the next.
type NoServer struct{ Err error }

// NoConnection is a reply to no command: the next gets no connection.
type NoConnection struct{ Err error }

// PoolCleared is the error of a command that waits for a connection when the pool is cleared.
type PoolCleared struct{ retryableWrite bool }

// ForWrite returns a copy of the error that has the label.
func (PoolCleared) ForWrite() error {
	return PoolCleared{retryableWrite: true}
}

// HasErrorLabel reports whether the error has the label.
func (e PoolCleared) HasErrorLabel(label string) bool {
	return label == driver.RetryableWriteError && e.retryableWrite
}

// Error implements the error interface.
func (PoolCleared) Error() string { return "the pool was cleared" }

// Retryable implements the driver.RetryablePoolError interface.
func (PoolCleared) Retryable() bool { return true }

// PoolPaused is the error of a command that asks for a connection after that.
func PoolPaused() error {
	return driver.Error{
		Message: PoolCleared{}.Error(), Labels: []string{driver.TransientTransactionError}, Wrapped: PoolCleared{},
	}
}

// connectionError is the error of a connection that could not be established.
type connectionError interface {
	error
	ServerAddress() address.Address
}

// BrokenHandshake is the error of a connection to "a:27017" on which a handshake command failed.
type BrokenHandshake struct{ Cause driver.Error }

// ForWrite returns a copy of the error that has the label.
func (e BrokenHandshake) ForWrite() error {
	e.Cause.Labels = append(append([]string(nil), e.Cause.Labels...), driver.RetryableWriteError)
	return e
}

// ClosedHandshake is the error of a connection that was closed in the authentication step.
func ClosedHandshake() error {
	return BrokenHandshake{driver.Error{Message: "closed", Labels: []string{driver.NetworkError}}}
}

// OverloadedHandshake is the error of a connection whose authentication the server rejected, as it does with commands.
func OverloadedHandshake() error {
	return BrokenHandshake{driver.Error{Code: 462, Message: "rejected", Labels: []string{"SystemOverloadedError", "RetryableError"}}}
}

// Error implements the error interface.
func (e BrokenHandshake) Error() string { return "handshake: " + e.Cause.Error() }

// Unwrap returns the error of the command.
func (e BrokenHandshake) Unwrap() error { return e.Cause }

// HasErrorLabel reports whether the error has the label.
func (e BrokenHandshake) HasErrorLabel(label string) bool { return e.Cause.HasErrorLabel(label) }

// ServerAddress returns the server to which there is no connection.
func (BrokenHandshake) ServerAddress() address.Address { return "a:27017" }
