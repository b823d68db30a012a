package main

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

// server is a primary on loopback that answers commands as a defect wants, to show what a client makes of that.
type server struct {
	refuse    atomic.Int64 // how many new connections are closed after their first hello was read
	commands  atomic.Int64 // besides hello
	last      atomic.Value // the last of those commands, a bson.Raw
	service   atomic.Bool  // whether it is a service behind a load balancer, whose hello does not say how long sessions last
	malformed atomic.Bool  // whether a hello that establishes a connection has a version of another type
	listener  net.Listener
	answer    func(n int64) bson.M
}

// start starts a server. The function returns the reply to the n-th command, from 1.
func start(answer func(n int64) bson.M) *server {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	s := &server{listener: listener, answer: answer}
	go func() {
		for {
			nc, err := listener.Accept()
			must(err)
			go s.serve(nc, s.refuse.Add(-1) >= 0)
		}
	}()
	return s
}

// connect returns a client with options of the connection string that knows the server. With a server API it speaks OP_MSG alone.
func (s *server) connect(opts string) *mongo.Client {
	known, once := make(chan struct{}), sync.Once{}
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + s.listener.Addr().String() + "/?replicaSet=rs&" + opts).
		SetServerAPIOptions(options.ServerAPI(options.ServerAPIVersion1)).
		SetServerMonitor(&event.ServerMonitor{ServerHeartbeatSucceeded: func(*event.ServerHeartbeatSucceededEvent) {
			once.Do(func() { close(known) })
		}}))
	must(err)
	<-known
	return client
}

// behind returns a client that takes the server for a load balancer.
func (s *server) behind() *mongo.Client {
	s.service.Store(true)
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + s.listener.Addr().String() + "/?loadBalanced=true").
		SetServerAPIOptions(options.ServerAPI(options.ServerAPIVersion1)))
	must(err)
	return client
}

// field reports whether the last command has a field.
func (s *server) field(name string) bool {
	_, err := s.last.Load().(bson.Raw).LookupErr(name)
	return err == nil
}

// coll returns the collection of such a client.
func (s *server) coll(opts string) *mongo.Collection {
	return s.connect(opts).Database("db").Collection("coll")
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// serve answers until the client ends the connection.
func (s *server) serve(nc net.Conn, refuse bool) {
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
			s.last.Store(command)
			reply = s.answer(s.commands.Add(1))
		} else if wait, ok := command.Lookup("maxAwaitTimeMS").AsInt64OK(); ok {
			time.Sleep(time.Duration(wait) * time.Millisecond)
		} else if s.malformed.Load() {
			reply["maxWireVersion"] = "25"
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

func (s *server) hello() bson.M {
	if s.service.Load() {
		return bson.M{"ok": 1, "msg": "isdbgrid", "serviceId": bson.ObjectID{1}, "minWireVersion": 0, "maxWireVersion": 25,
			"maxBsonObjectSize": 16 << 20, "maxMessageSizeBytes": 48000000, "maxWriteBatchSize": 100000}
	}
	addr := s.listener.Addr().String()
	return bson.M{
		"ok": 1, "isWritablePrimary": true, "setName": "rs", "hosts": bson.A{addr}, "me": addr,
		"minWireVersion": 0, "maxWireVersion": 25, "logicalSessionTimeoutMinutes": 30,
		"maxBsonObjectSize": 16 << 20, "maxMessageSizeBytes": 48000000, "maxWriteBatchSize": 100000,
		"topologyVersion": bson.M{"processId": bson.ObjectID{1}, "counter": int64(1)},
	}
}

// failed returns a reply that is an error.
func failed(code int, labels ...string) bson.M {
	return bson.M{"ok": 0, "code": code, "codeName": "Error", "errmsg": "rejected", "errorLabels": labels}
}

// overloaded returns the reply by which an overloaded server rejects a command.
func overloaded() bson.M { return failed(462, "SystemOverloadedError", "RetryableError") }

// ok is the reply to a command that succeeds, and to a find that finds nothing.
func ok(int64) bson.M {
	return bson.M{"ok": 1, "cursor": bson.M{"id": int64(0), "ns": "db.coll", "firstBatch": bson.A{}}}
}
