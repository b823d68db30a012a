package wire

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

func document(t testing.TB, doc bson.D) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(doc)
	require.NoError(t, err)
	return raw
}

func messages(t testing.TB) map[string]*Message {
	body := document(t, bson.D{{Key: "insert", Value: "c"}, {Key: "$db", Value: "d"}})
	return map[string]*Message{
		"OP_MSG": {RequestID: 7, ResponseTo: 3, Flags: MoreToCome, Body: body},
		"sequences": {RequestID: -1, Body: body, Sequences: []Sequence{
			{Identifier: "documents", Documents: []bson.Raw{body, body}}, {Identifier: "none"},
		}},
		"OP_QUERY": {RequestID: 1, Legacy: true, Namespace: "admin.$cmd", Body: body},
		"OP_REPLY": {ResponseTo: 1, Legacy: true, Body: body},
	}
}

func TestRoundTrip(t *testing.T) {
	var stream bytes.Buffer
	for name, m := range messages(t) {
		require.NoError(t, Write(&stream, m), name)
		got, err := Read(&stream)
		require.NoError(t, err, name)
		assert.Equal(t, m, got, name)
	}
	_, err := Read(&stream)
	assert.ErrorIs(t, err, io.EOF)
}

// What the driver writes is read: it may put the body after the sequences, and add a checksum.
func TestSectionsInAnyOrder(t *testing.T) {
	m := messages(t)["sequences"]
	start, dst := wiremessage.AppendHeaderStart(nil, m.RequestID, 0, wiremessage.OpMsg)
	dst = wiremessage.AppendMsgFlags(dst, ChecksumPresent)
	dst = wiremessage.AppendMsgSectionType(dst, wiremessage.DocumentSequence)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(4+len("documents")+1+2*len(m.Body)))
	dst = append(append(append(append(dst, "documents"...), 0), m.Body...), m.Body...)
	dst = append(wiremessage.AppendMsgSectionType(dst, wiremessage.SingleDocument), m.Body...)
	dst = append(dst, 1, 2, 3, 4)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)))
	got, err := Decode(dst)
	require.NoError(t, err)
	assert.Equal(t, m.Body, got.Body)
	assert.Equal(t, m.Sequences[:1], got.Sequences)
	assert.False(t, got.HasFlag(ChecksumPresent), "it is not written again")
}

func TestMalformed(t *testing.T) {
	header := func(size, op int32) []byte {
		b := make([]byte, headerSize)
		binary.LittleEndian.PutUint32(b, uint32(size))
		binary.LittleEndian.PutUint32(b[12:], uint32(op))
		return b
	}
	for name, b := range map[string][]byte{
		"too small":       header(headerSize-1, 2013),
		"too large":       header(DefaultMaxMessageSize+1, 2013),
		"below zero":      header(-1, 2013),
		"compressed":      header(headerSize, 2012),
		"unknown":         header(headerSize, 9999),
		"empty OP_MSG":    header(headerSize, 2013),
		"empty OP_QUERY":  header(headerSize, 2004),
		"empty OP_REPLY":  header(headerSize, 1),
		"no section":      append(header(headerSize+4, 2013), 0, 0, 0, 0),
		"unknown section": append(header(headerSize+5, 2013), 0, 0, 0, 0, 2),
	} {
		_, err := Read(bytes.NewReader(b))
		assert.ErrorIs(t, err, ErrMalformed, name)
	}
	_, err := Read(bytes.NewReader(header(headerSize+4, 2013)))
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	large := &Message{Body: make(bson.Raw, DefaultMaxMessageSize)}
	assert.ErrorIs(t, Write(io.Discard, large), ErrMalformed)

	// A message that is cut short or has one byte changed is refused or read; it causes no panic.
	for name, m := range messages(t) {
		b := m.encode()
		for i := range b {
			_, err := Decode(b[:i])
			assert.Error(t, err, name)
			for _, value := range []byte{0, 1, 0x7f, 0xff} {
				changed := bytes.Clone(b)
				changed[i] = value
				_, _ = Decode(changed)
			}
		}
	}
}
