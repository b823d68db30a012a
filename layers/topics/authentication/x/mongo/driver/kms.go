package driver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mongocrypt"
)

// kmsRequest is a request to a key management service; libmongocrypt makes it and reads the answer.
type kmsRequest interface {
	HostName() (string, error)
	Pause() time.Duration
	MessageAfterPause() ([]byte, error)
	KMSProvider() string
	BytesNeeded() int32
	FeedResponse([]byte) error
	RequestError() error
}

// executeStateMachine lets libmongocrypt do its work, and gets it whatever it asks for.
//
//fork:replace requests to key management services have the context of the operation that they are for
func (c *crypt) executeStateMachine(ctx context.Context, cryptCtx *mongocrypt.Context, db string) (bsoncore.Document, error) {
	for {
		var err error
		switch state := cryptCtx.State(); state {
		case mongocrypt.Done: // without a result
			return nil, nil
		case mongocrypt.Ready:
			return cryptCtx.Finish()
		case mongocrypt.NeedMongoCollInfo:
			err = c.collectionInfo(ctx, cryptCtx, db)
		case mongocrypt.NeedMongoKeys:
			err = c.retrieveKeys(ctx, cryptCtx)
		case mongocrypt.NeedMongoMarkings:
			err = c.markCommand(ctx, cryptCtx, db)
		case mongocrypt.NeedKmsCredentials:
			err = c.provideKmsProviders(ctx, cryptCtx)
		case mongocrypt.NeedKms:
			err = c.askKMS(ctx, cryptCtx)
		default:
			err = fmt.Errorf("libmongocrypt is in the unknown state %v", state)
		}
		if err != nil {
			return nil, err
		}
	}
}

//fork:remove crypt.decryptKeys its requests had no context
//fork:remove crypt.decryptKey its requests had no context

// askKMS sends all requests to key management services that libmongocrypt has.
func (c *crypt) askKMS(ctx context.Context, cryptCtx *mongocrypt.Context) error {
	for request := cryptCtx.NextKmsContext(); request != nil; request = cryptCtx.NextKmsContext() {
		if err := c.sendKMSRequest(ctx, request); err != nil {
			return err
		}
	}
	return cryptCtx.FinishKmsContexts()
}

// kmsContext returns the context for a request: it ends with the operation's or, if that has no deadline, after defaultKmsTimeout.
func kmsContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, limited := ctx.Deadline(); limited {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, defaultKmsTimeout)
}

// pauseBeforeKMS waits as long as libmongocrypt wants before it repeats a request. It ends with the context, which the
// sleep that it replaces outlived, and returns its error.
func pauseBeforeKMS(ctx context.Context, request kmsRequest) error {
	if pause := request.Pause(); pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// sendKMSRequest sends a request, after the pause that libmongocrypt wants before a repeated one, and lets libmongocrypt read the answer.
// The pause and the exchange end with the context (client-side-operations-timeout.md, "Client Side Encryption").
func (c *crypt) sendKMSRequest(ctx context.Context, request kmsRequest) error {
	err := pauseBeforeKMS(ctx, request)
	ctx, cancel := kmsContext(ctx)
	defer cancel()
	if err == nil {
		err = c.exchangeWithKMS(ctx, request)
	}
	var unread unreadError
	isUnread := errors.As(err, &unread)
	switch ended := ctx.Err(); {
	case err == nil: // all of the answer came, even if the time is up now
		return nil
	case ended != nil && err != ended:
		return fmt.Errorf("request to a key management service: %w: %v", ended, err)
	case ended != nil:
		return fmt.Errorf("request to a key management service: %w", ended)
	case isUnread:
		return request.RequestError() // nil if libmongocrypt will repeat the request
	default:
		return err
	}
}

// unreadError is that of a connection that cannot be read from. libmongocrypt may then want to repeat the request; after no other error
// does it, as before.
type unreadError struct{ error }

// dialKMS connects to the service, with its default port and the TLS options of its provider, and with the context of the operation.
func (c *crypt) dialKMS(ctx context.Context, request kmsRequest) (net.Conn, error) {
	addr, err := request.HostName()
	if err != nil {
		return nil, err
	}
	if !strings.Contains(addr, ":") {
		addr = fmt.Sprintf("%s:%d", addr, defaultKmsPort)
	}
	cfg := c.tlsConfig[request.KMSProvider()]
	if cfg == nil {
		cfg = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return (&tls.Dialer{Config: cfg}).DialContext(ctx, "tcp", addr)
}

// exchangeWithKMS sends the message and reads the answer, as far as libmongocrypt wants it.
func (c *crypt) exchangeWithKMS(ctx context.Context, request kmsRequest) error {
	message, err := request.MessageAfterPause()
	if err != nil {
		return err
	}
	conn, err := c.dialKMS(ctx, request)
	if err != nil {
		return err
	}
	defer closeWhenDone(ctx, conn)()
	if _, err := conn.Write(message); err != nil {
		return err
	}
	for needed := request.BytesNeeded(); needed > 0; needed = request.BytesNeeded() {
		answer := make([]byte, needed)
		n, unread := conn.Read(answer)
		if n > 0 { // also beside an error: the last part of an answer can come with the end of TLS 1.2
			unread = nil
			err = request.FeedResponse(answer[:n])
		}
		switch {
		case unread != nil:
			return unreadError{unread}
		case err != nil:
			return err
		}
	}
	return nil
}

// closeWhenDone closes the connection when the context ends, or when the function that it returns is called.
func closeWhenDone(ctx context.Context, conn net.Conn) func() {
	finished := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
		case <-finished:
		}
		_ = conn.Close()
	}()
	return func() { close(finished) }
}
