package wire

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// raw returns a message of that content with a right header.
func raw(op wiremessage.OpCode, content string) []byte {
	return append(head(HeaderSize+len(content), op), content...)
}

func head(length int, op wiremessage.OpCode) []byte {
	return wiremessage.AppendHeader(nil, int32(length), 0, 0, op)
}

func le32(n int) string { return string(bsoncore.AppendInt32(nil, int32(n))) }

// compressed returns an OP_COMPRESSED of an OP_MSG.
func compressed(op wiremessage.OpCode, size int, id byte, data string) []byte {
	return raw(wiremessage.OpCompressed, le32(int(op))+le32(size)+string(id)+data)
}

func TestMalformed(t *testing.T) {
	const (
		empty = "\x05\x00\x00\x00\x00"
		body  = "\x00" + empty
		none  = "\x00\x00\x00\x00"
	)
	query := none + "a.$cmd\x00" + none + none
	reply := none + none + none + none
	tests := map[string]struct {
		message []byte
		kind    error
		detail  string
	}{
		"no header":           {[]byte("short"), ErrSize, "5 bytes"},
		"length below header": {head(15, wiremessage.OpMsg), ErrSize, "15 bytes are not between"},
		"negative length":     {head(-1, wiremessage.OpMsg), ErrSize, "-1 bytes"},
		"length above bound":  {head(DefaultMaxMessageSize+1, wiremessage.OpMsg), ErrSize, "48000001"},
		"length unlike bytes": {head(17, wiremessage.OpMsg), ErrSize, "header says 17 bytes, there are 16"},
		"opcode":              {raw(2002, none), ErrOpCode, "2002; OP_MSG"},

		"no flags":             {raw(wiremessage.OpMsg, "\x00"), ErrSize, "flags"},
		"unknown flag":         {raw(wiremessage.OpMsg, "\x04\x00\x00\x00"+body), ErrFlags, "0x4"},
		"no sections":          {raw(wiremessage.OpMsg, none), ErrSection, "no body"},
		"sequence only":        {raw(wiremessage.OpMsg, none+"\x01"+le32(6)+"s\x00"), ErrSection, "no body"},
		"two bodies":           {raw(wiremessage.OpMsg, none+body+body), ErrSection, "two bodies"},
		"section kind":         {raw(wiremessage.OpMsg, none+body+"\x02"), ErrSection, "kind 2"},
		"same identifier":      {raw(wiremessage.OpMsg, none+body+strings.Repeat("\x01"+le32(6)+"s\x00", 2)), ErrSection, `two sequences "s"`},
		"sequence size":        {raw(wiremessage.OpMsg, none+body+"\x01"+le32(7)+"s\x00"), ErrSize, "a sequence"},
		"sequence size small":  {raw(wiremessage.OpMsg, none+body+"\x01"+le32(3)+"s\x00"), ErrSize, "a sequence"},
		"sequence identifier":  {raw(wiremessage.OpMsg, none+body+"\x01"+le32(5)+"s"), ErrSize, "identifier"},
		"sequence document":    {raw(wiremessage.OpMsg, none+body+"\x01"+le32(7)+"s\x00x"), ErrSize, "sequence document"},
		"no room for checksum": {raw(wiremessage.OpMsg, "\x01\x00\x00\x00"), ErrSize, "checksum"},
		"checksum":             {raw(wiremessage.OpMsg, "\x01\x00\x00\x00"+body+none), ErrChecksum, "00000000, want "},
		"body length":          {raw(wiremessage.OpMsg, none+"\x00"+le32(6)+"\x00"), ErrSize, "body does not end within the 5 bytes"},
		"negative body length": {raw(wiremessage.OpMsg, none+"\x00"+le32(-1)+"\x00"), ErrSize, "body does not end within the 5 bytes"},
		"body terminator":      {raw(wiremessage.OpMsg, none+"\x00"+le32(5)+"\x01"), ErrDocument, "does not end"},

		"query flags":     {raw(opQuery, "\x01\x00\x00\x00"+query[4:]+empty), ErrFlags, "0x1"},
		"query no end":    {raw(opQuery, none+"a.$cmd"), ErrSize, "fullCollectionName"},
		"query document":  {raw(opQuery, query), ErrSize, "query does not end within the 0 bytes"},
		"query rest":      {raw(opQuery, query+empty+empty+"x"), ErrSize, "1 bytes too many"},
		"reply truncated": {raw(wiremessage.OpReply, reply), ErrSize, "numberReturned"},
		"reply count":     {raw(wiremessage.OpReply, reply+le32(2)+empty), ErrSize, "there are 1"},
		"reply negative":  {raw(wiremessage.OpReply, reply+le32(-1)), ErrSize, "numberReturned is -1"},

		"compressed truncated": {raw(wiremessage.OpCompressed, le32(2013)), ErrSize, "uncompressedSize"},
		"compressed twice":     {compressed(wiremessage.OpCompressed, 0, 0, ""), ErrOpCode, "twice"},
		"compressor":           {compressed(wiremessage.OpMsg, 0, 4, ""), ErrCompression, "compressor 4"},
		"uncompressed above":   {compressed(wiremessage.OpMsg, DefaultMaxMessageSize-HeaderSize+1, 0, ""), ErrSize, "47999985"},
		"uncompressed below 0": {compressed(wiremessage.OpMsg, -1, 0, ""), ErrSize, "-1"},
		"noop smaller":         {compressed(wiremessage.OpMsg, 11, 0, none+body), ErrSize, "at most 10 of 10 bytes"},
		"noop larger":          {compressed(wiremessage.OpMsg, 9, 0, none+body), ErrSize, "gives 10 bytes"},
		"snappy garbage":       {compressed(wiremessage.OpMsg, 10, 1, "\xff"), ErrCompression, "snappy"},
		"zlib garbage":         {compressed(wiremessage.OpMsg, 10, 2, "xx"), ErrCompression, "zlib"},
		"zstd garbage":         {compressed(wiremessage.OpMsg, 10, 3, "xx"), ErrCompression, "zstd"},
		"malformed inside":     {compressed(wiremessage.OpMsg, 4, 0, none), ErrSection, "no body"},
	}
	codec := newCodec(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := codec.Decode(tt.message)
			assert.Nil(t, m)
			assert.ErrorIs(t, err, tt.kind)
			assert.ErrorContains(t, err, tt.detail)
		})
	}
}

func TestChecksumInsideCompressedIsVerified(t *testing.T) {
	codec := newCodec(t)
	m := &Message{Compression: Noop, Content: &Msg{Flags: ChecksumPresent, Body: document(t, bson.D{})}}
	b, err := codec.Append(nil, m)
	require.NoError(t, err)
	b[len(b)-1]++
	_, err = codec.Decode(b)
	assert.ErrorIs(t, err, ErrChecksum)
}

// Each of these expands to 64 MB from a fraction of that, and says that it does not.
func TestCompressionBombs(t *testing.T) {
	zeros := make([]byte, 64<<20)
	var deflated bytes.Buffer
	w := zlib.NewWriter(&deflated)
	_, err := w.Write(zeros)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	// Without a content size in the frame, so that only decompression can tell.
	var streamed bytes.Buffer
	encoder.Reset(&streamed)
	_, err = encoder.Write(zeros)
	require.NoError(t, err)
	require.NoError(t, encoder.Close())

	codec := newCodec(t)
	for name, b := range map[string][]byte{
		"snappy":        compressed(wiremessage.OpMsg, 1000, 1, string(snappy.Encode(nil, zeros))),
		"zlib":          compressed(wiremessage.OpMsg, 1000, 2, deflated.String()),
		"zstd":          compressed(wiremessage.OpMsg, 1000, 3, string(encoder.EncodeAll(zeros, nil))),
		"zstd streamed": compressed(wiremessage.OpMsg, 1000, 3, streamed.String()),
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			used := allocated(func() { _, err = codec.Decode(b) })
			assert.ErrorAs(t, err, new(*FormatError))
			assert.Less(t, used, uint64(4<<20))
		})
	}
}

// TestShortMessagesAllocateLittle is about messages of few bytes that announce the most there may be.
func TestShortMessagesAllocateLittle(t *testing.T) {
	const most = DefaultMaxMessageSize - HeaderSize
	codec := newCodec(t)
	for id := byte(0); id <= 3; id++ {
		for _, data := range []string{"", "\xff\xff\xff\x16", "x\x9c\x03\x00\x00\x00\x00\x01", "\x28\xb5\x2f\xfd\xa0\x00\x00\xdc\x02"} {
			for _, size := range []int{most, most / 2, 1 << 20} {
				var err error
				used := allocated(func() { _, err = codec.Decode(compressed(wiremessage.OpMsg, size, id, data)) })
				assert.ErrorIs(t, err, ErrSize, "compressor %d, %d bytes of %q", id, size, data)
				assert.Less(t, used, uint64(64<<10), "compressor %d, %d bytes of %q", id, size, data)
			}
		}
	}
}

// TestMostOf is about what compresses best: it has to be read.
func TestMostOf(t *testing.T) {
	body := document(t, bson.D{{Key: "zeros", Value: make([]byte, 40<<20)}})
	codec := newCodec(t)
	for _, compression := range []Compression{Noop, Snappy, Zlib, Zstd} {
		b, err := codec.Append(nil, &Message{Compression: compression, Content: &Msg{Body: body}})
		require.NoError(t, err)
		m, err := codec.Decode(b)
		require.NoError(t, err, "%v: %d bytes", compression, len(b))
		assert.Equal(t, len(body), len(m.Document()))
	}
}

// TestManySequences is about a message that takes no time to make. If each identifier were compared with all before it, it would
// take minutes to read.
func TestManySequences(t *testing.T) {
	const sequences = 400_000
	content := []byte("\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00")
	for i := range sequences {
		content = append(content, 1)
		content = bsoncore.AppendInt32(content, 4+6+1)
		content = fmt.Appendf(content, "%06d\x00", i)
	}
	m, err := newCodec(t).Decode(raw(wiremessage.OpMsg, string(content)))
	require.NoError(t, err)
	assert.Len(t, m.Content.(*Msg).Sequences, sequences)
	_, err = newCodec(t).Decode(raw(wiremessage.OpMsg, string(content)+"\x01"+le32(4+6+1)+"000000\x00"))
	assert.ErrorIs(t, err, ErrSection)
}

func everyType() bson.D {
	return bson.D{
		{Key: "double", Value: 1.5}, {Key: "string", Value: "s"}, {Key: "document", Value: bson.D{{Key: "a", Value: bson.A{1, "x"}}}},
		{Key: "binary", Value: bson.Binary{Subtype: 2, Data: []byte{1, 2}}}, {Key: "undefined", Value: bson.Undefined{}},
		{Key: "id", Value: bson.ObjectID{1}}, {Key: "bool", Value: true}, {Key: "date", Value: bson.DateTime(1)},
		{Key: "null", Value: nil}, {Key: "regex", Value: bson.Regex{Pattern: "p", Options: "i"}},
		{Key: "pointer", Value: bson.DBPointer{DB: "d.c"}}, {Key: "code", Value: bson.JavaScript("f()")},
		{Key: "symbol", Value: bson.Symbol("s")}, {Key: "scope", Value: bson.CodeWithScope{Code: "f()", Scope: bson.D{{Key: "x", Value: 1}}}},
		{Key: "int", Value: int32(1)}, {Key: "timestamp", Value: bson.Timestamp{T: 1, I: 2}}, {Key: "long", Value: int64(1)},
		{Key: "decimal", Value: bson.NewDecimal128(1, 2)}, {Key: "min", Value: bson.MinKey{}}, {Key: "max", Value: bson.MaxKey{}},
	}
}

// element returns a document of one element with the key "k".
func element(t bson.Type, value string) []byte {
	doc := append([]byte{0, 0, 0, 0, byte(t), 'k', 0}, value...)
	doc = append(doc, 0)
	binary.LittleEndian.PutUint32(doc, uint32(len(doc)))
	return doc
}

func nested(depth int) []byte {
	doc := []byte("\x05\x00\x00\x00\x00")
	for range depth - 1 {
		doc = element(bson.TypeEmbeddedDocument, string(doc))
	}
	return doc
}

func TestValidateDocument(t *testing.T) {
	assert.NoError(t, ValidateDocument(document(t, everyType())))
	assert.NoError(t, ValidateDocument(nested(MaxDepth)))

	const largest = "\xff\xff\xff\x7f"
	for name, doc := range map[string][]byte{
		"nothing":               {},
		"too deep":              nested(MaxDepth + 1),
		"far too deep":          nested(5000),
		"key without end":       []byte("\x07\x00\x00\x00\x0ak\x00"),
		"unknown type":          element(0x42, "abcd"),
		"short int32":           element(bson.TypeInt32, "abc"),
		"no length":             element(bson.TypeString, "ab"),
		"string beyond":         element(bson.TypeString, le32(3)+"a\x00"),
		"empty string":          element(bson.TypeString, le32(0)),
		"string without end":    element(bson.TypeString, le32(2)+"ab"),
		"binary wraps around":   element(bson.TypeBinary, largest+"\x00abc"),
		"string wraps around":   element(bson.TypeString, largest+"abc"),
		"pointer wraps around":  element(bson.TypeDBPointer, largest+"abc"),
		"negative length":       element(bson.TypeBinary, "\xff\xff\xff\xff\x00"),
		"boolean of 2":          element(bson.TypeBoolean, "\x02"),
		"regex without end":     element(bson.TypeRegex, "ab"),
		"embedded too small":    element(bson.TypeEmbeddedDocument, le32(4)),
		"embedded without end":  element(bson.TypeArray, le32(5)+"\x01"),
		"scope too small":       element(bson.TypeCodeWithScope, le32(4)),
		"scope without code":    element(bson.TypeCodeWithScope, le32(14)+"\x7f\x00\x00\x00\x00\x05\x00\x00\x00\x00"),
		"scope without a scope": element(bson.TypeCodeWithScope, le32(15)+le32(7)+"abcdef\x00"),
		"pointer without end":   element(bson.TypeDBPointer, le32(2)+"ab"+"123456789012"),
	} {
		assert.Error(t, ValidateDocument(doc), name)
	}
}
