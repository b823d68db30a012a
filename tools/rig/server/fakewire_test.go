package server

import (
	"bufio"
	"io"
	"net"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/tools/fakeserver"
)

// fakeServer speaks enough of the wire protocol for a driver to take it for a
// replica set of one, a standalone server if it has no replica set, or a router.
type fakeServer struct {
	address    string
	replicaSet string
	router     bool
	version    string
	// configured is told the commands that make deployments of servers.
	configured func(command string)
	// logins know the user, and who is about to become it.
	logins logins
	// initiated is false as long as it waits for replSetInitiate.
	initiated atomic.Bool
}

func (f *fakeServer) serve(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			reader := bufio.NewReader(conn)
			for f.exchange(reader, conn) == nil {
			}
		}()
	}
}

// exchange answers one message.
func (f *fakeServer) exchange(r io.Reader, w io.Writer) error {
	request, _, err := fakeserver.ReadRequest(r, nil)
	if err != nil {
		return err
	}
	document, err := bson.Marshal(f.reply(request.Body))
	if err != nil {
		return err
	}
	_, err = w.Write(fakeserver.AppendReply(nil, request, document))
	return err
}

func (f *fakeServer) reply(command bson.Raw) bson.M {
	first := command.Index(0)
	switch first.Key() {
	case "hello", "isMaster", "ismaster":
		return f.hello()
	case "replSetInitiate", "addShard":
		f.configured(first.String())
		f.initiated.Store(true)
	case "createUser":
		f.configured(first.String())
		f.logins.create(command)
	case "saslStart", "saslContinue":
		return f.logins.step(command)
	case "buildInfo":
		return bson.M{"ok": 1, "version": f.version}
	}
	return bson.M{"ok": 1}
}

func (f *fakeServer) hello() bson.M {
	reply := bson.M{
		"ok": 1, "helloOk": true, "minWireVersion": 0, "maxWireVersion": 27,
		"maxBsonObjectSize": 16 << 20, "maxMessageSizeBytes": fakeserver.MaxMessageSize, "maxWriteBatchSize": 100_000,
		"logicalSessionTimeoutMinutes": 30, "saslSupportedMechs": bson.A{"SCRAM-SHA-256"},
	}
	if !f.initiated.Load() {
		// Only one member of a set is told to initiate it.
		reply["isWritablePrimary"], reply["ismaster"], reply["isreplicaset"], reply["secondary"] = false, false, true, true
		return reply
	}
	reply["isWritablePrimary"], reply["ismaster"] = true, true
	if f.router {
		reply["msg"] = "isdbgrid"
	}
	if f.replicaSet == "" {
		return reply
	}
	reply["setName"], reply["setVersion"] = f.replicaSet, 1
	reply["hosts"], reply["me"], reply["primary"] = bson.A{f.address}, f.address, f.address
	return reply
}
