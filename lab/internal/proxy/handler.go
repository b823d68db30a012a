package proxy

import (
	"context"
	"errors"
	"net"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/wire"
)

// Errors by which the client's connection ends on purpose, and so without a log line.
var (
	// ErrClose closes the connection as usual.
	ErrClose = errors.New("the connection is closed on purpose")
	// ErrReset closes it with a TCP reset, like a crashed host.
	ErrReset = errors.New("the connection is reset on purpose")
)

// Handler sees every request on its way to the backend, and the reply on its way back.
//
// It may pass the request to next, changed or not, at once or later, and return next's reply, changed or not. Or it may return a reply of
// its own. An error closes the client's connection. If it waits, it has to stop when the context ends, which ends with the connection.
//
// A handler serves many connections concurrently, but one request of each at a time.
type Handler func(ctx context.Context, req *Request, next Next) (bson.Raw, error)

// Next passes a request on, and returns the reply to it: nil if the request is not acknowledged.
type Next func(ctx context.Context, req *Request) (bson.Raw, error)

// Client is one connection of a client. Use it only while one of its requests is handled.
type Client struct {
	ID   uint64   // numbers a front's connections from 1
	Conn net.Conn // the front's end of it
	// AppName is the name of the application from the metadata of the connection's hello, already while that hello is handled.
	AppName string
	// Compressors are those that the client supports. The backend does not see them, because it never gets compressed messages.
	Compressors []string
}

// Request is a command that a client sent.
type Request struct {
	Client  *Client
	Message *wire.Message
	// Command and Database are as the client sent them; changing the message does not change them.
	Command  string
	Database string
}

// NewRequest returns the request in a message.
func NewRequest(client *Client, m *wire.Message) *Request {
	req := &Request{Client: client, Message: m, Command: bsondoc.FirstKey(m.Body)}
	req.Database, _ = m.Body.Lookup("$db").StringValueOK()
	return req
}

// Document returns the command.
func (r *Request) Document() bson.Raw { return r.Message.Body }

// Acknowledged reports whether the client waits for a reply.
func (r *Request) Acknowledged() bool { return !r.Message.HasFlag(wiremessage.MoreToCome) }

// With returns a copy of the request with another document.
func (r *Request) With(doc bson.Raw) *Request {
	copied, message := *r, *r.Message
	message.Body = doc
	copied.Message = &message
	return &copied
}

// IsHello reports whether a command is a hello.
func IsHello(command string) bool {
	return command == "hello" || command == "isMaster" || command == "ismaster"
}

// readHello remembers the metadata of a connection's first hello, and hides the client's compressors from the server.
func (r *Request) readHello() {
	if !IsHello(r.Command) {
		return
	}
	doc := r.Document()
	if r.Client.AppName == "" {
		r.Client.AppName, _ = doc.Lookup("client", "application", "name").StringValueOK()
	}
	const compressors = "compression"
	if offered, err := doc.LookupErr(compressors); err == nil {
		_ = offered.Unmarshal(&r.Client.Compressors) // none if it is no list of names
		r.Message.Body = bsondoc.Rebuild(doc, []string{compressors}, nil)
	}
}
