package wire

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"

	"mongofork/lab/internal/bsondoc"
)

// encoded returns a message of an opcode, whose content is in parts.
func encoded(op wiremessage.OpCode, parts ...[]byte) []byte {
	content := bytes.Join(parts, nil)
	return append(wiremessage.AppendHeader(nil, int32(headerSize+len(content)), 7, 3, op), content...)
}

func decode(b []byte) (*Message, error) { return Read(bytes.NewReader(b)) }

// sequence returns a section with documents.
func sequence(name string, documents ...[]byte) []byte {
	content := append(append([]byte(name), 0), bytes.Join(documents, nil)...)
	return append(binary.LittleEndian.AppendUint32([]byte{1}, uint32(4+len(content))), content...)
}

func messages() map[string][]byte {
	body := bsondoc.Marshal(bsondoc.D("insert", "c", "$db", "d"))
	var compressed bytes.Buffer
	_ = Write(&compressed, &Message{Body: body, Compressor: wiremessage.CompressorZLib}) // a buffer takes everything
	return map[string][]byte{
		"compressed": compressed.Bytes(),
		"OP_MSG":     encoded(wiremessage.OpMsg, []byte{2, 0, 0, 0, 0}, body),
		"sequences":  encoded(wiremessage.OpMsg, make([]byte, 5), body, sequence("documents", body, body), sequence("none")),
	}
}

func TestRoundTrip(t *testing.T) {
	for name, b := range messages() {
		m, err := Read(bytes.NewReader(b))
		require.NoError(t, err, name)
		assert.Equal(t, name == "OP_MSG", m.Flags&wiremessage.MoreToCome != 0, name)
		var got bytes.Buffer
		require.NoError(t, Write(&got, m), name)
		assert.Equal(t, b, got.Bytes(), name)
	}
	_, err := Read(&bytes.Buffer{})
	assert.ErrorIs(t, err, io.EOF)
}

func TestMalformed(t *testing.T) {
	header := func(size, op int32) []byte { return wiremessage.AppendHeader(nil, size, 0, 0, wiremessage.OpCode(op)) }
	for name, b := range map[string][]byte{
		"too small":       header(headerSize-1, 2013),
		"too large":       header(maxMessageSize+1, 2013),
		"below zero":      header(-1, 2013),
		"compressed":      header(headerSize, 2012),
		"unknown":         header(headerSize, 9999),
		"empty OP_MSG":    header(headerSize, 2013),
		"empty OP_QUERY":  header(headerSize, 2004),
		"no section":      append(header(headerSize+4, 2013), 0, 0, 0, 0),
		"unknown section": append(header(headerSize+5, 2013), 0, 0, 0, 0, 2),
	} {
		_, err := Read(bytes.NewReader(b))
		assert.ErrorIs(t, err, ErrMalformed, name)
	}

	// A message that is cut short or has one byte changed is refused or read; it causes no panic.
	for name, b := range messages() {
		for i := range b {
			_, err := decode(b[:i])
			assert.Error(t, err, name)
			for _, value := range []byte{0, 1, 0x7f, 0xff} {
				changed := bytes.Clone(b)
				changed[i] = value
				if m, err := decode(changed); err == nil {
					m.Whole()
				}
			}
		}
	}
}
