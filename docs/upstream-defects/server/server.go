// Package server is a primary on loopback that answers commands as a program wants, to show what a client makes of that.
package server

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// Server answers commands.
type Server struct {
	// Refuse is how many new connections are closed after their first hello was read.
	Refuse atomic.Int64
	// Commands counts the commands besides hello.
	Commands atomic.Int64

	listener net.Listener
	answer   func(n int64) bson.M
}

// Start starts a server. The function returns the reply to the n-th command, from 1.
func Start(answer func(n int64) bson.M) *Server {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	s := &Server{listener: listener, answer: answer}
	go func() {
		for {
			nc, err := listener.Accept()
			must(err)
			go s.serve(nc, s.Refuse.Add(-1) >= 0)
		}
	}()
	return s
}

// Connect returns a client that knows the server. With a server API it speaks OP_MSG alone.
func (s *Server) Connect(opts *options.ClientOptions) *mongo.Client {
	known, once := make(chan struct{}), sync.Once{}
	client, err := mongo.Connect(opts.ApplyURI("mongodb://" + s.listener.Addr().String() + "/?replicaSet=rs").
		SetServerAPIOptions(options.ServerAPI(options.ServerAPIVersion1)).
		SetServerMonitor(&event.ServerMonitor{ServerHeartbeatSucceeded: func(*event.ServerHeartbeatSucceededEvent) {
			once.Do(func() { close(known) })
		}}))
	must(err)
	<-known
	return client
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// serve answers until the client ends the connection.
func (s *Server) serve(nc net.Conn, refuse bool) {
	defer nc.Close()
	const header, flags, kind = 16, 4, 1
	for {
		head := make([]byte, header)
		if _, err := io.ReadFull(nc, head); err != nil {
			return
		}
		length, request, _, _, _, _ := wiremessage.ReadHeader(head)
		body := make([]byte, length-header)
		if _, err := io.ReadFull(nc, body); err != nil || refuse {
			return
		}
		command := bson.Raw(body[flags+kind:])
		reply := s.hello()
		if command.Index(0).Key() != "hello" {
			reply = s.answer(s.Commands.Add(1))
		} else if wait, ok := command.Lookup("maxAwaitTimeMS").AsInt64OK(); ok {
			time.Sleep(time.Duration(wait) * time.Millisecond)
		}
		doc, err := bson.Marshal(reply)
		must(err)
		wm := wiremessage.AppendHeader(nil, int32(header+flags+kind+len(doc)), 0, request, wiremessage.OpMsg)
		wm = append(append(wm, make([]byte, flags+kind)...), doc...)
		if _, err := nc.Write(wm); err != nil {
			return
		}
	}
}

func (s *Server) hello() bson.M {
	addr := s.listener.Addr().String()
	return bson.M{
		"ok": 1, "isWritablePrimary": true, "setName": "rs", "hosts": bson.A{addr}, "me": addr,
		"minWireVersion": 0, "maxWireVersion": 25, "logicalSessionTimeoutMinutes": 30,
		"maxBsonObjectSize": 16 << 20, "maxMessageSizeBytes": 48000000, "maxWriteBatchSize": 100000,
		"topologyVersion": bson.M{"processId": bson.ObjectID{1}, "counter": int64(1)},
	}
}

// Error returns a reply that is an error.
func Error(code int, labels ...string) bson.M {
	return bson.M{"ok": 0, "code": code, "codeName": "Error", "errmsg": "rejected", "errorLabels": labels}
}

// Overloaded returns the reply by which an overloaded server rejects a command.
func Overloaded() bson.M { return Error(462, "SystemOverloadedError", "RetryableError") }

// OK is the reply to a command that succeeds, and to a find that finds nothing.
func OK(int64) bson.M {
	return bson.M{"ok": 1, "cursor": bson.M{"id": int64(0), "ns": "db.coll", "firstBatch": bson.A{}}}
}
