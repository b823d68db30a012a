package fakeserver

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
)

func le32(n int) string { return string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }

// message returns a message with the number 7, which replies to none.
func message(opcode int, content string) []byte {
	return []byte(le32(headerSize+len(content)) + le32(7) + le32(0) + le32(opcode) + content)
}

// The bytes are written out by hand, for the driver's functions to be checked too.
const (
	none     = "\x00\x00\x00\x00"
	empty    = "\x05\x00\x00\x00\x00"
	ping     = "\x0f\x00\x00\x00\x10ping\x00\x01\x00\x00\x00\x00"
	body     = "\x00" + ping
	query    = none + "a.$cmd\x00" + none + none
	sequence = "\x01" + "\x10\x00\x00\x00" + "s\x00" + empty + empty

	opMsg = 2013
)

func TestReadRequest(t *testing.T) {
	var buffer []byte
	for name, tt := range map[string]struct {
		message []byte
		want    Request
	}{
		"OP_MSG":            {message(opMsg, none+body), Request{}},
		"sequences":         {message(opMsg, none+body+sequence+sequence), Request{Documents: 4}},
		"no reply expected": {message(opMsg, "\x02\x00\x00\x00"+body), Request{NoReply: true}},
		"other flag":        {message(opMsg, "\x00\x00\x01\x00"+body), Request{}},
		"OP_QUERY":          {message(int(opQuery), query+ping), Request{Legacy: true}},
	} {
		tt.want.ID, tt.want.Body = 7, bson.Raw(ping)
		var got Request
		var err error
		got, buffer, err = ReadRequest(bytes.NewReader(tt.message), buffer)
		require.NoError(t, err, name)
		assert.Equal(t, tt.want, got, name)
	}
}

func TestMalformed(t *testing.T) {
	for name, tt := range map[string]struct {
		message []byte
		want    string
	}{
		"length below header":   {[]byte(le32(15) + none + none + none), "15 bytes"},
		"negative length":       {[]byte(le32(-1) + none + none + none), "-1 bytes"},
		"length above bound":    {[]byte(le32(MaxMessageSize+1) + none + none + none), "48000001 bytes"},
		"opcode":                {message(1, none), "opcode 1"},
		"nothing":               {message(opMsg, ""), "does not begin with a body"},
		"short flags":           {message(opMsg, "\x00"), "does not begin with a body"},
		"no section":            {message(opMsg, none), "does not begin with a body"},
		"sequence first":        {message(opMsg, none+sequence+body), "does not begin with a body"},
		"short document":        {message(opMsg, none+"\x00"+le32(6)+"\x00"), "document ends early"},
		"negative document":     {message(opMsg, none+"\x00"+le32(-1)+"\x00"), "document ends early"},
		"document of 4":         {message(opMsg, none+"\x00"+le32(4)), "document ends early"},
		"two bodies":            {message(opMsg, none+body+body), "not a sequence"},
		"sequence size":         {message(opMsg, none+body+"\x01"+le32(7)+"s\x00"), "not a sequence"},
		"sequence size small":   {message(opMsg, none+body+"\x01"+le32(3)+"s\x00"), "not a sequence"},
		"sequence identifier":   {message(opMsg, none+body+"\x01"+le32(5)+"s"), "not a sequence"},
		"document in sequence":  {message(opMsg, none+body+"\x01"+le32(7)+"s\x00x"), "document ends early"},
		"query without flags":   {message(int(opQuery), "\x00"), "OP_QUERY ends early"},
		"query without end":     {message(int(opQuery), none+"a.$cmd"), "OP_QUERY ends early"},
		"query without numbers": {message(int(opQuery), none+"a.$cmd\x00"+none), "OP_QUERY ends early"},
		"query without command": {message(int(opQuery), query), "document ends early"},
	} {
		_, _, err := ReadRequest(bytes.NewReader(tt.message), nil)
		require.ErrorIs(t, err, errMalformed, name)
		assert.ErrorContains(t, err, tt.want, name)
	}
	for _, end := range []int{0, 1, headerSize, headerSize + 1} {
		_, _, err := ReadRequest(bytes.NewReader(message(opMsg, none+body)[:end]), nil)
		assert.Contains(t, []error{io.EOF, io.ErrUnexpectedEOF}, err, "%d bytes", end)
	}
}

func TestAppendReply(t *testing.T) {
	const before = "before"
	header := func(opcode, size int) string { return before + le32(headerSize+size) + none + le32(7) + le32(opcode) }
	for want, request := range map[string]Request{
		header(opMsg, 5+len(ping)) + none + "\x00" + ping:                    {ID: 7},
		header(1, 20+len(ping)) + none + none + none + none + le32(1) + ping: {ID: 7, Legacy: true},
	} {
		assert.Equal(t, want, string(AppendReply([]byte(before), request, bson.Raw(ping))))
	}
}

func FuzzReadRequest(f *testing.F) {
	f.Add(message(opMsg, none+body+sequence))
	f.Add(message(int(opQuery), query+ping))
	f.Add(message(1, ""))
	f.Add([]byte{1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, input []byte) {
		request, _, err := ReadRequest(bytes.NewReader(input), nil)
		if err == nil && len(request.Body) < len(empty) {
			t.Errorf("a request without a body: %x", input)
		}
	})
}
