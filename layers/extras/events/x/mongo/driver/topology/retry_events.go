package topology

import (
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// ConnectionError can hold a RetryError.
//
//fork:extend wrapping a RetryError would change the message
type ConnectionError struct {
	account backpressure.Account
}

// After returns the error with what it describes of the operation's attempts. Only an error while a connection is established can be
// that of a retried command; any other stays comparable.
func (e ConnectionError) After(retries *event.RetryError) error {
	if e.server != "" {
		e.account = backpressure.Account{RetryError: retries}
	}
	return e
}

// As lets errors.As find the RetryError.
func (e ConnectionError) As(target any) bool { return e.account.As(target) }

// Its end says how often the command was tried, if there was a backoff.
//
//fork:wrap a message has to tell a command that was retried for seconds from one that failed at once
func (e ConnectionError) Error() string {
	message := e.upstreamError()
	return e.account.Message(message)
}

// The policy of the client has its monitor, and its logger.
//
//fork:wrap both the client and NewConfig use it
func NewAuthenticatorConfig(authenticator driver.Authenticator, clientOpts ...AuthConfigOption) (*Config, error) {
	cfg, retErr := upstreamNewAuthenticatorConfig(authenticator, clientOpts...)
	if retErr == nil {
		cfg.overload.Monitor, cfg.overload.Logger = optionsOf(clientOpts).RetryMonitor, cfg.logger
	}
	return cfg, retErr
}
