package wire

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

func newCodec(t testing.TB) *Codec {
	t.Helper()
	codec, err := NewCodec(0)
	require.NoError(t, err)
	return codec
}

func document(t testing.TB, v any) bson.Raw {
	t.Helper()
	doc, err := bson.Marshal(v)
	require.NoError(t, err)
	return doc
}

// messages are one of each shape.
func messages(t testing.TB) map[string]*Message {
	ping := document(t, bson.D{{Key: "ping", Value: 1}, {Key: "$db", Value: "admin"}})
	insert := document(t, bson.D{{Key: "insert", Value: "c"}, {Key: "$db", Value: "d"}})
	docs := []bson.Raw{document(t, bson.D{{Key: "_id", Value: 1}}), document(t, bson.D{})}
	sequences := []Sequence{{Identifier: "documents", Documents: docs}, {Identifier: "none"}}
	return map[string]*Message{
		"plain":         {RequestID: 1, ResponseTo: 2, Content: &Msg{Body: ping}},
		"sequences":     {RequestID: -1, Content: &Msg{Body: insert, Sequences: sequences}},
		"body last":     {Content: &Msg{Body: insert, Sequences: sequences, bodyAt: 2}},
		"body between":  {Content: &Msg{Body: insert, Sequences: sequences, bodyAt: 1}},
		"checksum":      {RequestID: 7, Content: &Msg{Flags: ChecksumPresent | MoreToCome, Body: ping, Sequences: sequences}},
		"exhaust":       {Content: &Msg{Flags: ExhaustAllowed, Body: ping}},
		"optional flag": {Content: &Msg{Flags: 1 << 31, Body: ping}},
		"query":         {Content: &Query{Flags: 4, FullCollection: "admin.$cmd", Limit: -1, Document: ping}},
		"query fields":  {Content: &Query{FullCollection: "d.c", Skip: 3, Document: ping, Fields: ping}},
		"reply":         {ResponseTo: 9, Content: &Reply{Flags: 8, CursorID: math.MinInt64, Documents: docs}},
		"empty reply":   {Content: &Reply{StartingFrom: 5}},
	}
}

func TestRoundTrip(t *testing.T) {
	codec := newCodec(t)
	for name, m := range messages(t) {
		for _, compression := range []Compression{Uncompressed, Noop, Snappy, Zlib, Zstd} {
			t.Run(name+"/"+compression.String(), func(t *testing.T) {
				m := &Message{RequestID: m.RequestID, ResponseTo: m.ResponseTo, Compression: compression, Content: m.Content}
				b, err := codec.Append(nil, m)
				require.NoError(t, err)
				decoded, err := codec.Decode(b)
				require.NoError(t, err)
				assert.Equal(t, m, decoded)

				again, err := codec.Append([]byte("before"), decoded)
				require.NoError(t, err)
				assert.Equal(t, append([]byte("before"), b...), again)
			})
		}
	}
}

// The bytes are written out here by hand from the protocol's description, so that reading and writing cannot be wrong alike.
func TestKnownBytes(t *testing.T) {
	ping := "\x0f\x00\x00\x00\x10ping\x00\x01\x00\x00\x00\x00"
	empty := "\x05\x00\x00\x00\x00"
	tests := map[string]struct {
		bytes string
		want  Message
	}{
		"OP_MSG": {
			"\x24\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00\xdd\x07\x00\x00" + "\x00\x00\x01\x00" + "\x00" + ping,
			Message{RequestID: 2, ResponseTo: 3, Content: &Msg{Flags: ExhaustAllowed, Body: bson.Raw(ping)}},
		},
		"OP_MSG with a sequence": {
			"\x30\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\xdd\x07\x00\x00" + "\x02\x00\x00\x00" + "\x00" + ping +
				"\x01\x0b\x00\x00\x00s\x00" + empty,
			Message{RequestID: 2, Content: &Msg{
				Flags: MoreToCome, Body: bson.Raw(ping), Sequences: []Sequence{{"s", []bson.Raw{bson.Raw(empty)}}},
			}},
		},
		"OP_QUERY": {
			"\x32\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\xd4\x07\x00\x00" + "\x04\x00\x00\x00" + "a.$cmd\x00" +
				"\x00\x00\x00\x00" + "\xff\xff\xff\xff" + ping,
			Message{RequestID: 2, Content: &Query{Flags: 4, FullCollection: "a.$cmd", Limit: -1, Document: bson.Raw(ping)}},
		},
		"OP_REPLY": {
			"\x29\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00\x01\x00\x00\x00" + "\x08\x00\x00\x00" +
				"\x06\x00\x00\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "\x01\x00\x00\x00" + empty,
			Message{RequestID: 2, ResponseTo: 3, Content: &Reply{Flags: 8, CursorID: 6, Documents: []bson.Raw{bson.Raw(empty)}}},
		},
	}
	codec := newCodec(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			// The lengths above are checked too: what is too short or too long fails.
			m, err := codec.Decode([]byte(tt.bytes))
			require.NoError(t, err)
			assert.Equal(t, &tt.want, m)
			b, err := codec.Append(nil, &tt.want)
			require.NoError(t, err)
			assert.Equal(t, []byte(tt.bytes), b)
		})
	}
}

func TestChecksumIsCastagnoli(t *testing.T) {
	// The check value of CRC-32C.
	assert.Equal(t, uint32(0xe3069283), checksum([]byte("123456789")))
}

func TestRead(t *testing.T) {
	codec := newCodec(t)
	long := document(t, bson.D{{Key: "insert", Value: strings.Repeat("x", 1_000_000)}})
	var stream []byte
	var want []*Message
	for i, doc := range []bson.Raw{document(t, bson.D{}), long, document(t, bson.D{{Key: "a", Value: 1}})} {
		m := &Message{RequestID: int32(i), Content: &Msg{Body: doc}}
		var err error
		stream, err = codec.Append(stream, m)
		require.NoError(t, err)
		want = append(want, m)
	}

	r := iotest.HalfReader(bytes.NewReader(stream))
	for _, m := range want {
		got, err := codec.Read(r)
		require.NoError(t, err)
		assert.Equal(t, m, got)
	}
	_, err := codec.Read(r)
	assert.Equal(t, io.EOF, err)

	for _, end := range []int{1, HeaderSize, HeaderSize + 1} {
		_, err := codec.Read(bytes.NewReader(stream[:end]))
		assert.Equal(t, io.ErrUnexpectedEOF, err, "%d bytes", end)
	}
}

func TestReadTakesMemoryForWhatArrives(t *testing.T) {
	codec := newCodec(t)
	head := head(DefaultMaxMessageSize, wiremessage.OpMsg)
	assert.Less(t, allocated(func() {
		_, err := codec.Read(bytes.NewReader(head))
		require.Equal(t, io.ErrUnexpectedEOF, err)
	}), uint64(256<<10))
}

// allocated returns how many bytes f allocates, and whatever else runs at the same time.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestNewCodecRejectsImpossibleSizes(t *testing.T) {
	for _, size := range []int{-1, HeaderSize - 1, math.MaxInt32 + 1} {
		_, err := NewCodec(size)
		assert.ErrorContains(t, err, "give one from 16 to 2147483647")
	}
}

func TestAppendKeepsTheBound(t *testing.T) {
	codec, err := NewCodec(1000)
	require.NoError(t, err)
	m := &Message{Content: &Msg{Body: document(t, bson.D{{Key: "x", Value: strings.Repeat("x", 1000)}})}}
	for _, compression := range []Compression{Uncompressed, Snappy} {
		m.Compression = compression
		_, err = codec.Append(nil, m)
		assert.ErrorIs(t, err, ErrSize, "%v", compression)
	}
}

func TestDocument(t *testing.T) {
	doc := document(t, bson.D{{Key: "other", Value: 1}})
	for name, m := range messages(t) {
		if name != "empty reply" {
			assert.NotNil(t, m.Document(), name)
		} else {
			assert.Nil(t, m.Document(), name)
		}
		m.SetDocument(doc)
		assert.Equal(t, doc, m.Document(), name)
	}
}

func FuzzDecode(f *testing.F) {
	codec := newCodec(f)
	for _, m := range messages(f) {
		for compression := Uncompressed; compression <= Zstd; compression++ {
			m.Compression = compression
			b, err := codec.Append(nil, m)
			require.NoError(f, err)
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= HeaderSize {
			binary.LittleEndian.PutUint32(b, uint32(len(b))) // else most inputs would end here
		}
		m, err := codec.Decode(b)
		if err != nil {
			assert.ErrorAs(t, err, new(*FormatError))
			return
		}
		again, err := codec.Append(nil, m)
		require.NoError(t, err)
		if m.Compression == Uncompressed {
			assert.Equal(t, b, again)
			return
		}
		// There are many ways to compress the same; the content has to survive.
		decoded, err := codec.Decode(again)
		require.NoError(t, err)
		assert.Equal(t, m, decoded)
	})
}

func FuzzValidateDocument(f *testing.F) {
	f.Add([]byte(document(f, everyType())))
	f.Fuzz(func(t *testing.T, b []byte) {
		if ValidateDocument(b) != nil {
			return
		}
		// Whatever is accepted can be walked with the driver's types.
		assert.NoError(t, bson.Raw(b).Validate())
		_, err := bson.Raw(b).Elements()
		assert.NoError(t, err)
	})
}

func BenchmarkDecode(b *testing.B) {
	codec := newCodec(b)
	find := document(b, bson.D{
		{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "_id", Value: 1}}}, {Key: "$db", Value: "d"},
	})
	encoded, err := codec.Append(nil, &Message{Content: &Msg{Body: find}})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := codec.Decode(encoded); err != nil {
			b.Fatal(err)
		}
	}
}
