// Package proxy puts a front before a MongoDB server: a listener that decodes clients' messages, lets handlers see and change
// them, passes them on to the server, and does the same with the replies.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
	"golang.org/x/sync/errgroup"

	"mongofork/lab/internal/bsondoc"
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

// Config configures a front.
type Config struct {
	Backend string // the address of the server behind the front
	Answer  Next   // unless nil, it takes the place of the backend
	// Accept, unless nil, is called for every connection of a client before anything is read from it. It may wait until the context
	// ends; only this connection then waits. An error ends the connection.
	Accept   func(ctx context.Context) error
	Handlers []Handler    // they see requests in this order, and replies in the reverse one
	Logger   *slog.Logger // unless nil, it receives one line for every connection that ends with an error
}

// Front passes the requests of any number of clients to one backend. Each client connection has its own backend connection, made
// when the first request is forwarded.
type Front struct {
	config      Config
	handle      Next // all handlers
	connections sync.WaitGroup

	mu   sync.Mutex
	last uint64                             // connection's number
	open map[uint64]context.CancelCauseFunc // ends a connection
}

// New returns a front. It does not connect to the backend.
func New(config Config) *Front {
	f := &Front{config: config, handle: config.Answer, open: map[uint64]context.CancelCauseFunc{}}
	if f.handle == nil {
		f.handle = f.forward
	}
	for _, handler := range slices.Backward(config.Handlers) {
		next := f.handle
		f.handle = func(ctx context.Context, req *Request) (bson.Raw, error) { return handler(ctx, req, next) }
	}
	return f
}

// Serve accepts clients until the context ends, and then returns nil; or until the listener fails. When it returns, the listener,
// every connection and all its goroutines are closed.
func (f *Front) Serve(ctx context.Context, listener net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer f.Wait()
	defer cancel()
	context.AfterFunc(ctx, func() { listener.Close() })
	defer listener.Close()
	for {
		conn, err := listener.Accept()
		if err != nil && ctx.Err() != nil {
			return nil
		} else if err != nil {
			return fmt.Errorf("accept on %v: %w", listener.Addr(), err)
		}
		f.Go(ctx, conn)
	}
}

// Go serves a connection of a client until either side or the context ends it.
func (f *Front) Go(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithCancelCause(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	client := &Client{ID: f.last, Conn: conn}
	f.open[client.ID] = cancel
	f.connections.Go(func() {
		f.serve(ctx, client)
		cancel(nil)
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.open, client.ID)
	})
}

// Wait returns when all connections have ended.
func (f *Front) Wait() { f.connections.Wait() }

// Reset resets all connections.
func (f *Front) Reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, cancel := range f.open {
		cancel(ErrReset)
	}
}

const dialTimeout = 10 * time.Second

// Client is one connection of a client. Use it only while one of its requests is handled.
type Client struct {
	ID   uint64   // numbers a front's connections from 1
	Conn net.Conn // the front's end of it
	// AppName is the name of the application from the metadata of the connection's hello, already while that hello is handled.
	AppName string
	// Compressors are those that the client supports. The backend does not see them, because it never gets compressed messages.
	Compressors []string

	backend net.Conn // nil until a request is forwarded
	lastID  int32    // numbers what is sent, to either side
}

// nextID numbers messages from 1, and starts again after the largest number.
func (c *Client) nextID() int32 {
	c.lastID = max(c.lastID+1, 1)
	return c.lastID
}

// Request is a command that a client sent.
type Request struct {
	Client   *Client
	Message  *Message
	Command  string // both are as the client sent them; changing the message does not change them
	Database string
}

// NewRequest returns the request in a message.
func NewRequest(client *Client, m *Message) *Request {
	req := &Request{Client: client, Message: m, Command: bsondoc.FirstKey(m.Body)}
	req.Database, _ = m.Body.Lookup("$db").StringValueOK()
	return req
}

// Document returns the command.
func (r *Request) Document() bson.Raw { return r.Message.Body }

// Acknowledged reports whether the client waits for a reply.
func (r *Request) Acknowledged() bool { return r.Message.Flags&wiremessage.MoreToCome == 0 }

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

// serve serves a connection to its end, of which it leaves nothing behind. One goroutine handles the requests. Another reads from the
// client, so that it notices the client's end while a request waits.
func (f *Front) serve(front context.Context, client *Client) {
	group, ctx := errgroup.WithContext(front)
	group.Go(func() error {
		<-ctx.Done()
		if tcp, ok := client.Conn.(*net.TCPConn); ok && errors.Is(context.Cause(ctx), ErrReset) {
			_ = tcp.SetLinger(0) // fails where the other side has ended the connection already
		}
		return client.Conn.Close()
	})
	group.Go(func() error {
		if f.config.Accept != nil {
			if err := f.config.Accept(ctx); err != nil {
				return err
			}
		}
		requests := make(chan *Message)
		group.Go(func() error {
			defer close(requests)
			return read(ctx, client.Conn, requests)
		})
		for m := range requests {
			if err := f.answer(ctx, front, NewRequest(client, m)); err != nil {
				return err
			}
		}
		return nil
	})
	_ = group.Wait() // the first reason is the context's
	if client.backend != nil {
		client.backend.Close()
	}
	err := context.Cause(ctx)
	ordinary := func(end error) bool { return errors.Is(err, end) }
	if f.config.Logger != nil && !slices.ContainsFunc([]error{ErrClose, ErrReset, context.Canceled}, ordinary) {
		f.config.Logger.Warn("connection closed", "client", client.Conn.RemoteAddr().String(), "connection", client.ID,
			"error", err)
	}
}

// read passes on a client's messages. The error is the reason why they ended.
func read(ctx context.Context, client net.Conn, requests chan<- *Message) error {
	for {
		m, err := Read(client)
		if errors.Is(err, ErrMalformed) {
			return err
		} else if err != nil {
			return ErrClose // the client is gone
		}
		select {
		case requests <- m:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// answer answers a request. A hello that asks for a reply at each change is handled as a series of requests, each of which may fail.
// Each knows the state of the last reply. An error ends the series.
func (f *Front) answer(ctx, front context.Context, req *Request) error {
	const version = "topologyVersion"
	if !req.Acknowledged() {
		// A client may send this and close, which must not end it.
		_, err := f.handle(front, req)
		return err
	}
	streams := false
	if IsHello(req.Command) {
		req.readHello()
		streams = req.Message.Flags&wiremessage.ExhaustAllowed != 0 && bsondoc.Has(req.Document(), "maxAwaitTimeMS")
	}
	req.Message.Flags &^= wiremessage.ExhaustAllowed // it has one reply
	reply := Message{RequestID: req.Message.RequestID, Legacy: req.Message.Legacy, Compressor: req.Message.Compressor}
	for more := true; more; {
		var err error
		if reply.Body, err = f.handle(ctx, req.With(req.Document())); err != nil {
			return err
		}
		news, lacking := reply.Body.LookupErr(version)
		reply.Flags = 0
		if more = streams && lacking == nil && bsondoc.Succeeded(reply.Body); more {
			reply.Flags = wiremessage.MoreToCome
			req = req.With(bsondoc.With(req.Document(), bson.E{Key: version, Value: news}))
		}
		reply.RequestID, reply.ResponseTo = req.Client.nextID(), reply.RequestID // each further one answers the previous one
		if Write(req.Client.Conn, &reply) != nil {
			return ErrClose // the client is gone
		}
	}
	return nil
}

// forward sends the request to the backend and returns its reply. It is the end of the chain of handlers.
func (f *Front) forward(ctx context.Context, req *Request) (reply bson.Raw, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("backend: %w", err)
		}
	}()
	client := req.Client
	if client.backend == nil {
		conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", f.config.Backend)
		if err != nil {
			return nil, err
		}
		client.backend = conn
	}
	defer context.AfterFunc(ctx, func() { client.backend.Close() })()
	request := *req.Message
	request.RequestID, request.ResponseTo, request.Legacy = client.nextID(), 0, false
	if err := Write(client.backend, &request); err != nil || !req.Acknowledged() {
		return nil, err
	}
	m, err := Read(client.backend)
	if err != nil {
		return nil, err
	}
	return m.Body, nil
}

const (
	// maxMessageSize is a server's maxMessageSizeBytes.
	maxMessageSize = 48_000_000

	headerSize = 16
	// Drivers use opQuery only for the first hello, so wiremessage deprecates its constant.
	opQuery wiremessage.OpCode = 2004
)

// ErrMalformed is wrapped by the errors for messages that are not of the protocol, or not of the part that is supported.
var ErrMalformed = errors.New("malformed message")

// Message is a command or a reply: an OP_MSG, perhaps in an OP_COMPRESSED, or for a connection's first hello an OP_QUERY or an OP_REPLY.
// Its documents alias the buffer from which it was decoded.
type Message struct {
	RequestID  int32
	ResponseTo int32
	Legacy     bool                     // whether the command came in an OP_QUERY, and whether the reply is written as an OP_REPLY
	Compressor wiremessage.CompressorID // what it is compressed with; 0 for nothing

	Flags     wiremessage.MsgFlag // a checksum is not supported: drivers send none
	Body      bson.Raw
	Sequences []byte // array fields of the command that were sent beside its body, with their section types
}

// Whole returns the command with the documents that were sent beside it.
func (m *Message) Whole() bson.Raw {
	if len(m.Sequences) == 0 {
		return m.Body
	}
	sequences := bsoncore.NewDocumentBuilder()
	for rest := m.Sequences; len(rest) > 0; {
		var name string
		var documents []bsoncore.Document
		name, documents, rest, _ = wiremessage.ReadMsgSectionDocumentSequence(rest[1:])
		array := bsoncore.NewArrayBuilder()
		for _, doc := range documents {
			array.AppendDocument(doc)
		}
		sequences.AppendArray(name, array.Build())
	}
	return bsondoc.Rebuild(m.Body, nil, bson.Raw(sequences.Build()))
}

// Compressors returns those of the names that are supported. Zstandard's keeps channels beyond a bubble of testing/synctest.
func Compressors(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name != "snappy" && name != "zlib" })
}

// Read reads the next message of a stream.
func Read(r io.Reader) (*Message, error) {
	var head [headerSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size, id, responseTo, op, _, _ := wiremessage.ReadHeader(head[:])
	if size < headerSize || size > maxMessageSize {
		return nil, fmt.Errorf("%w: %d bytes are not between %d and %d", ErrMalformed, size, headerSize, maxMessageSize)
	}
	content := make([]byte, size-headerSize)
	if _, err := io.ReadFull(r, content); err != nil {
		return nil, err
	}
	m := &Message{RequestID: id, ResponseTo: responseTo}
	return m, m.decode(op, content)
}

// decode reads what follows a header.
func (m *Message) decode(op wiremessage.OpCode, content []byte) error {
	ok := false
	switch op {
	case wiremessage.OpCompressed:
		return m.decompress(content)
	case wiremessage.OpMsg:
		ok = m.decodeMsg(content)
	case opQuery:
		ok = m.decodeQuery(content)
	}
	if !ok || m.Body.Validate() != nil {
		return fmt.Errorf("%w of opcode %d", ErrMalformed, op)
	}
	return nil
}

// decompress reads the message in the content of an OP_COMPRESSED.
func (m *Message) decompress(content []byte) (err error) {
	// What is missing is read as 0, which makes no message.
	op, content, _ := wiremessage.ReadCompressedOriginalOpCode(content)
	size, content, _ := wiremessage.ReadCompressedUncompressedSize(content)
	m.Compressor, content, _ = wiremessage.ReadCompressedCompressorID(content)
	if op == wiremessage.OpCompressed || size < 0 || size > maxMessageSize {
		return fmt.Errorf("%w: opcode %d of %d bytes, compressed", ErrMalformed, op, size)
	}
	content, err = driver.DecompressPayload(content, driver.CompressionOpts{Compressor: m.Compressor, UncompressedSize: size})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return m.decode(op, content)
}

func (m *Message) decodeMsg(content []byte) (ok bool) {
	m.Flags, content, ok = wiremessage.ReadMsgFlags(content)
	for ok && len(content) > 0 {
		var kind wiremessage.SectionType
		section := content
		if kind, content, ok = wiremessage.ReadMsgSectionType(content); kind == wiremessage.SingleDocument {
			m.Body, content, ok = readDocument(content)
		} else if ok {
			_, _, content, ok = wiremessage.ReadMsgSectionDocumentSequence(content)
			m.Sequences = append(m.Sequences, section[:len(section)-len(content)]...)
		}
	}
	return ok && m.Body != nil
}

// decodeQuery reads the command after the flags, the namespace, numberToSkip and numberToReturn. Only commands are supported; like
// those of an OP_MSG, it then has the database within.
func (m *Message) decodeQuery(content []byte) bool {
	m.Legacy = true
	_, content, _ = bsoncore.ReadInt32(content)
	namespace, content, _ := bsoncore.ReadKey(content)
	_, content, _ = bsoncore.ReadInt64(content)
	body, _, ok := readDocument(content)
	database, isCommand := strings.CutSuffix(namespace, ".$cmd")
	if !ok || !isCommand || body.Validate() != nil {
		return false
	}
	m.Body = bsondoc.With(body, bson.E{Key: "$db", Value: database})
	return true
}

func readDocument(content []byte) (bson.Raw, []byte, bool) {
	doc, rest, ok := bsoncore.ReadDocument(content)
	return bson.Raw(doc), rest, ok
}

// Write encodes the message and writes it in one call.
func Write(w io.Writer, m *Message) error {
	op, content := m.encode()
	if m.Compressor != 0 {
		packed, err := driver.CompressPayload(content, driver.CompressionOpts{Compressor: m.Compressor, ZlibLevel: 1})
		if err != nil {
			return err
		}
		compressed := wiremessage.AppendCompressedOriginalOpCode(nil, op)
		compressed = wiremessage.AppendCompressedUncompressedSize(compressed, int32(len(content)))
		compressed = wiremessage.AppendCompressedCompressorID(compressed, m.Compressor)
		op, content = wiremessage.OpCompressed, slices.Concat(compressed, packed)
	}
	size := headerSize + len(content)
	_, err := w.Write(append(wiremessage.AppendHeader(make([]byte, 0, size), int32(size), m.RequestID, m.ResponseTo, op), content...))
	return err
}

// encode returns what follows the header.
func (m *Message) encode() (op wiremessage.OpCode, content []byte) {
	if m.Legacy {
		const awaitCapable = 1 << 3 // set in every OP_REPLY
		content = bsoncore.AppendInt32(nil, awaitCapable)
		content = wiremessage.AppendReplyCursorID(content, 0)
		content = wiremessage.AppendReplyStartingFrom(content, 0)
		content = wiremessage.AppendReplyNumberReturned(content, 1)
		return wiremessage.OpReply, append(content, m.Body...)
	}
	content = wiremessage.AppendMsgFlags(nil, m.Flags)
	content = wiremessage.AppendMsgSectionType(content, wiremessage.SingleDocument)
	return wiremessage.OpMsg, slices.Concat(content, m.Body, m.Sequences)
}
