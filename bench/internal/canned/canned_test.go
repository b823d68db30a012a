package canned

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/tools/fakeserver"
)

const (
	headerSize = 16
	opQuery    = 2004
	opMsg      = 2013
)

// message returns a message with a header.
func message(id, opcode uint32, content []byte) []byte {
	m := binary.LittleEndian.AppendUint32(nil, uint32(headerSize+len(content)))
	m = binary.LittleEndian.AppendUint32(m, id)
	m = binary.LittleEndian.AppendUint32(m, 0)
	return append(binary.LittleEndian.AppendUint32(m, opcode), content...)
}

// command returns an OP_MSG with the command and a sequence of so many documents.
func command(t testing.TB, doc bson.D, documents int) []byte {
	body, err := bson.Marshal(doc)
	require.NoError(t, err)
	content := append(make([]byte, 5), body...)
	if documents > 0 {
		empty := []byte{5, 0, 0, 0, 0}
		sequence := append([]byte("documents\x00"), bytes.Repeat(empty, documents)...)
		content = append(content, 1)
		content = binary.LittleEndian.AppendUint32(content, uint32(4+len(sequence)))
		content = append(content, sequence...)
	}
	return message(7, opMsg, content)
}

func dial(t *testing.T) net.Conn {
	t.Helper()
	server, err := Start(context.Background())
	require.NoError(t, err)
	t.Cleanup(server.Close)
	address, _, _ := strings.Cut(strings.TrimPrefix(server.URI(), "mongodb://"), "/")
	connection, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

// exchange sends a message and returns the document of the reply, which starts after so many bytes.
func exchange(t *testing.T, c net.Conn, request []byte, skip int) bson.M {
	t.Helper()
	_, err := c.Write(request)
	require.NoError(t, err)
	header := make([]byte, headerSize)
	_, err = io.ReadFull(c, header)
	require.NoError(t, err)
	assert.Equal(t, binary.LittleEndian.Uint32(request[4:]), binary.LittleEndian.Uint32(header[8:]), "the request it answers")
	content := make([]byte, binary.LittleEndian.Uint32(header)-headerSize)
	_, err = io.ReadFull(c, content)
	require.NoError(t, err)
	var doc bson.M
	require.NoError(t, bson.Unmarshal(content[skip:], &doc))
	return doc
}

const skipMsg, skipReply = 5, 20

func TestHello(t *testing.T) {
	c := dial(t)
	body, err := bson.Marshal(bson.D{{Key: "ismaster", Value: 1}})
	require.NoError(t, err)
	query := append(append(make([]byte, 4), "admin.$cmd\x00"...), make([]byte, 8)...)
	assert.Equal(t, ReplicaSet, exchange(t, c, message(3, opQuery, append(query, body...)), skipReply)["setName"])
	assert.Equal(t, true, exchange(t, c, command(t, bson.D{{Key: "hello", Value: 1}}, 0), skipMsg)["isWritablePrimary"])
}

func TestInsertCountsItsDocuments(t *testing.T) {
	c := dial(t)
	for _, n := range []int{1, 100} {
		assert.EqualValues(t, n, exchange(t, c, command(t, bson.D{{Key: "insert", Value: "a"}}, n), skipMsg)["n"])
	}
}

func TestUnknownCommandsFail(t *testing.T) {
	c := dial(t)
	for _, doc := range []bson.D{{}, {{Key: "drop", Value: "a"}}, {{Key: "getMore", Value: int64(99)}}} {
		assert.EqualValues(t, 0, exchange(t, c, command(t, doc, 0), skipMsg)["ok"], "%v", doc)
	}
}

func TestCloseEndsConnections(t *testing.T) {
	server, err := Start(context.Background())
	require.NoError(t, err)
	c, err := net.Dial("tcp", server.listener.Addr().String())
	require.NoError(t, err)
	assert.EqualValues(t, 1, exchange(t, c, command(t, bson.D{{Key: "ping", Value: 1}}, 0), skipMsg)["ok"])
	server.Close()
	_, err = c.Read(make([]byte, 1))
	assert.Error(t, err)
}

// BenchmarkExchange is what the server itself costs per command, which every measurement of a driver contains.
func BenchmarkExchange(b *testing.B) {
	replies, err := newReplies("127.0.0.1:1")
	require.NoError(b, err)
	server := &Server{replies: replies}
	for name, message := range map[string][]byte{
		"find":        command(b, bson.D{{Key: "find", Value: "a"}}, 0),
		"insert":      command(b, bson.D{{Key: "insert", Value: "a"}}, 1),
		"insert 1000": command(b, bson.D{{Key: "insert", Value: "a"}}, 1000),
	} {
		b.Run(name, func(b *testing.B) {
			source := bytes.NewReader(nil)
			reader := bufio.NewReaderSize(source, 64<<10)
			var request fakeserver.Request
			var buffer, out []byte
			b.ReportAllocs()
			for b.Loop() {
				source.Reset(message)
				if request, buffer, err = fakeserver.ReadRequest(reader, buffer); err != nil {
					b.Fatal(err)
				}
				out = server.answer(out[:0], request)
			}
		})
	}
}
