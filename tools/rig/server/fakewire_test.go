package server

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Operation codes of MongoDB's wire protocol.
const (
	opReply = 1
	opQuery = 2004
	opMsg   = 2013
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
	var header struct{ Length, RequestID, ResponseTo, OpCode int32 }
	if err := binary.Read(r, binary.LittleEndian, &header); err != nil {
		return err
	}
	body := make([]byte, header.Length-16)
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	// What goes before the document of the request, and of the reply to it.
	var skip int
	var prefix []byte
	switch header.OpCode {
	case opMsg:
		skip = 4 + 1 // flags, kind of section
		prefix = make([]byte, skip)
		header.OpCode = opMsg
	case opQuery:
		skip = 4 + len("admin.$cmd\x00") + 4 + 4 // flags, namespace, skip, limit
		prefix = append(make([]byte, 16), 1, 0, 0, 0)
		header.OpCode = opReply
	default:
		return fmt.Errorf("operation code %d", header.OpCode)
	}
	// A document begins with its size.
	command := bson.Raw(body[skip:][:binary.LittleEndian.Uint32(body[skip:])])
	document, err := bson.Marshal(f.reply(command))
	if err != nil {
		return err
	}
	header.ResponseTo = header.RequestID
	header.Length = int32(16 + len(prefix) + len(document))
	if err := binary.Write(w, binary.LittleEndian, header); err != nil {
		return err
	}
	_, err = w.Write(slices.Concat(prefix, document))
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
		"maxBsonObjectSize": 16 << 20, "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000,
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
