package trial

import (
	"bytes"
	"encoding/binary"
	"math"
	"net"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/virtual"
)

// hostility is how servers are hostile: each message in reply to a command of a name, or to any command if there is none, is tampered with
// in so many of a hundred cases.
type hostility struct {
	On      string
	Percent int
}

func (p Plan) isHostile() bool { return p.Hostile.Percent > 0 }

// NewHostile returns the plan of a seed for a driver that meets hostile servers. The driver is judged by rules that hold whatever these do.
func NewHostile(seed uint64) Plan {
	b := newBuilder(seed, 2)
	b.Batch = 2
	b.Topology = pick(b, "standalone", "replicaset:1", "replicaset:3", "sharded:2", "loadbalanced:1")
	b.options(false)
	b.Auth = pick(b, "", "", "SCRAM-SHA-256", "PLAIN", "MONGODB-OIDC")
	b.Hostile = hostility{Percent: pick(b, 5, 20, 50, 100), On: pick(b, "", "", "", "hello", "saslStart", "saslContinue", "find",
		"getMore", "insert", "update", "bulkWrite", "aggregate", "commitTransaction", "findAndModify")}
	b.calls(names(kinds), 2)
	b.without("w=0")
	b.without("timeoutMS=900000") // which Disconnect may take
	b.sane()
	return b.Plan
}

// What a driver may use up, whatever a server does.
const (
	maxMemory = 96 << 20   // bytes that a trial allocates in all,
	perLie    = 48_000_000 // and for a message that is not what it says: the longest that a server may send
	maxWork   = 4000       // ms of the processor
	// maxLate is how late a call may end after its deadline, because other messages of that instant have to be handled, too.
	maxLate = 10 * time.Millisecond
	silence = 20 * time.Second // how long a server is silent before it ends the connection
	// maxGrace is what closing a cursor or a stream, or aborting a transaction, may take once the context has ended.
	maxGrace    = 2 * time.Second
	perCall     = 60 // commands of one call, with those that establish its connections
	perSecond   = 30 // commands of monitors and pools
	perCommand  = 12 // log lines
	linesAtBest = 100
)

// attack is what hostile servers have done, and what it cost.
type attack struct {
	source
	commands map[int32]string // by the numbers of their messages
	accepted map[int]bool     // calls with a command to which the server said that it succeeded
	lies     int
	lines    int // of the log
	memory   uint64
	worked   time.Duration
}

// used returns how much memory the process has allocated, and how long it has used the processor.
func used() (memory uint64, work time.Duration) {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0, 0
	}
	return stats.TotalAlloc, time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// ofHostile holds with hostile servers.
var ofHostile = []rule{
	{text: "a hostile server delays a call", ofCall: func(_ Plan, c *tally) bool {
		most := c.Deadline + maxLate
		opens := []string{"getMore", "killCursors", "aggregate", "listCollections", "listIndexes"}
		if slices.ContainsFunc(c.commands(), func(name string) bool { return slices.Contains(opens, name) }) {
			most += maxGrace
		}
		if !c.Alone() { // what ends a transaction has the time of the call anew
			most += c.Deadline + maxGrace
		}
		return c.Deadline > 0 && c.End-c.Start > most
	}},
	{text: "a call is a success, although no server said so",
		ofAll: func(a *application) bool {
			return slices.ContainsFunc(a.tallies(), func(c *tally) bool { return c.ok() && !a.hostile.accepted[c.ID] })
		}},
	{text: "too many commands", ofAll: func(a *application) bool {
		return len(a.hostile.commands) > 100+perCall*len(a.plan.Calls)+int(perSecond*a.leaving.Seconds())
	}},
	{text: "too many log lines", ofAll: func(a *application) bool {
		return a.hostile.lines > linesAtBest+perCommand*(len(a.hostile.commands)+a.result.Opened)
	}},
	{text: "too much memory", ofAll: func(a *application) bool {
		memory, _ := used()
		return memory-a.hostile.memory > uint64(maxMemory+perLie*a.hostile.lies)
	}},
	{text: "too much work for the processor", ofAll: func(a *application) bool {
		_, worked := used()
		return worked-a.hostile.worked > maxWork*time.Millisecond
	}},
}

// Info implements options.LogSink. It counts lines, and reads how many tokens are left.
func (a *application) Info(_ int, _ string, keysAndValues ...any) {
	a.note(func() {
		a.hostile.lines++
		tokens, _ := append(keysAndValues, nil)[1+slices.Index(keysAndValues, any("tokens"))].(float64)
		a.minted = max(a.minted, tokens-a.tokens)
	})
}

// Error implements options.LogSink.
func (a *application) Error(error, string, ...any) { a.note(func() { a.hostile.lines++ }) }

// tamper decides what becomes of a message.
func (a *application) tamper(_ net.Conn, message []byte) []virtual.Delivery {
	a.mu.Lock()
	defer a.mu.Unlock()
	h, plan := &a.hostile, a.plan.Hostile
	request := int32(binary.LittleEndian.Uint32(message[8:]))
	name := h.commands[request]
	message = slices.Clone(message)
	m, err := proxy.Read(bytes.NewReader(message))
	parts := []virtual.Delivery{{Data: message}}
	switch {
	case err != nil:
		return parts
	case plan.On != "" && plan.On != name && (plan.On != "hello" || !strings.EqualFold(name, "isMaster")):
	case h.IntN(100) < plan.Percent:
		parts = h.worsened(m, message)
	}
	if m.Body != nil && succeeded(name, m.Body) {
		h.accepted[a.requests[int64(request)]] = true
	}
	return parts
}

// worsened returns what the client gets instead of a message. What cannot be read has no body.
func (h *attack) worsened(m *proxy.Message, message []byte) []virtual.Delivery {
	switch h.IntN(4) {
	case 0:
		return h.deliveries(message)
	case 1:
		message = h.message(m)
		h.lies++
		if again, err := proxy.Read(strings.NewReader(string(message))); err == nil {
			m.Body = again.Body
		}
		return []virtual.Delivery{{Data: message}, {After: silence}}
	}
	m.Body = h.document(m.Body)
	if h.chance(10) {
		return h.deliveries(encode(m))
	}
	return []virtual.Delivery{{Data: encode(m)}}
}

func encode(m *proxy.Message) []byte {
	var encoded bytes.Buffer
	if err := proxy.Write(&encoded, m); err != nil {
		panic(err)
	}
	return encoded.Bytes()
}

// succeeded reports whether the reply to a command says somewhere that all went well.
func succeeded(name string, reply bson.Raw) bool {
	fields, _ := reply.Elements()
	ok := slices.ContainsFunc(fields, func(field bson.RawElement) bool {
		f, _ := field.Value().DoubleOK()
		return field.Key() == "ok" && (bsondoc.IsTrue(field.Value()) || f == 1)
	})
	errs, _ := reply.Lookup("writeErrors").ArrayOK()
	statements, _ := errs.Values()
	failed := slices.ContainsFunc(statements, func(one bson.RawValue) bool { return one.Type == bson.TypeEmbeddedDocument })
	_, concern := reply.Lookup("writeConcernError").DocumentOK()
	writes := slices.Contains([]string{"insert", "update", "delete"}, name)
	return ok && !(writes && (failed || concern))
}

// values are some that the driver may not expect. The table is read only.
var values = []any{nil, true, false, int32(0), int32(1), int32(-1), int32(2), int32(391), int32(462), int32(43), int32(10107),
	int32(math.MaxInt32), int32(math.MinInt32), int64(0), int64(1), int64(math.MaxInt32 + 1), int64(math.MaxInt64),
	int64(math.MinInt64), int64(math.MaxInt64 / 1_000_000), 0.0, 1.0, -1.0, 0.5, math.NaN(), math.Inf(1), math.Inf(-1), 1e300, 1e-300,
	"", "x", "db.c", "$", "a.b.c", "\x00", "zstd", "127.0.0.1:27017", "127.0.0.1:99999", "isdbgrid", "\xff", bson.MinKey{},
	bson.MaxKey{}, bson.Regex{Pattern: "("}, bson.JavaScript("x"), bson.Undefined{}, bson.Timestamp{},
	bson.Timestamp{T: math.MaxUint32, I: math.MaxUint32}, time.UnixMilli(-1), time.UnixMilli(math.MaxInt64 / 2),
	time.UnixMilli(math.MinInt64 / 2), bson.Binary{}, bson.Binary{Subtype: 4, Data: make([]byte, 16)},
	bson.Binary{Subtype: 2, Data: make([]byte, 3)}, bson.ObjectID{}, bson.A{}, bson.D{}}

// value returns one of those, labels, or a document, which may be deep.
func (s source) value(depth int) any {
	switch s.IntN(7) {
	case 0:
		labels := []any{"SystemOverloadedError", "RetryableError", "NoWritesPerformed", "RetryableWriteError",
			"TransientTransactionError", "UnknownTransactionCommitResult", "ResumableChangeStreamError", ""}
		s.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
		return bson.A(labels[:s.IntN(5)])
	case 1:
		nested := any(bson.D{})
		for range pick(s, 1, 10, 150, 2000) {
			nested = bson.D{{Key: "a", Value: nested}}
		}
		return nested
	case 2:
		var doc bson.D
		for range s.IntN(4 - min(depth, 3)) {
			doc = append(doc, bson.E{Key: pick(s, from().Fields...), Value: s.value(depth + 1)})
		}
		return pick[any](s, doc, doc, bson.A{doc, doc})
	}
	return pick(s, values...)
}

// altered returns a document in which something is altered.
func (s source) altered(doc bson.D) bson.D {
	i := s.IntN(len(doc) + 1)
	if i == len(doc) {
		return append(doc, bson.E{Key: pick(s, from().Fields...), Value: s.value(0)})
	}
	switch s.IntN(20) {
	case 0:
		return slices.Delete(doc, i, i+1)
	case 1:
		return append(doc, doc[i])
	case 2:
		doc[i].Key = pick(s, from().Fields...)
	default:
		doc[i].Value = s.changed(doc[i].Value)
	}
	return doc
}

// changed returns another value, or one in which something is altered.
func (s source) changed(value any) any {
	switch v := value.(type) {
	case bson.D:
		if !s.chance(5) {
			return s.altered(v)
		}
	case bson.A:
		if len(v) > 0 && !s.chance(5) {
			i := s.IntN(len(v))
			v[i] = s.changed(v[i])
			return v
		}
	case bson.Binary:
		return bson.Binary{Data: s.payload(v.Data)}
	}
	return s.value(0)
}

// payload alters one of SASL.
func (s source) payload(data []byte) []byte {
	before, _, scram := bytes.Cut(data, []byte("i="))
	switch {
	case scram && !s.chance(3):
		return append(before, "i="+pick(s, "0", "-1", "30000000", "99999999999999999999", "x", "4096,i=30000000", "")...)
	case len(data) > 0 && s.chance(2):
		return s.flipped(data, 0)
	}
	return make([]byte, pick(s, 0, 1, 1000, 100_000))
}

// flipped returns data with some bits flipped, from an offset on.
func (s source) flipped(data []byte, from int) []byte {
	data = slices.Clone(data)
	for range 1 + s.IntN(4) {
		data[from+s.IntN(len(data)-from)] ^= 1 << s.IntN(8)
	}
	return data
}

// document returns a reply, or an error that a server may return, in which something is altered.
func (s source) document(reply bson.Raw) bson.Raw {
	var doc bson.D
	if bson.Unmarshal(reply, &doc) != nil {
		return reply
	}
	if s.chance(4) {
		code := pick[int32](s, 1, 18, 43, 91, 112, 189, 251, 262, 391, 391, 462, 462, 10107, 11600, 13435)
		labels := pick(s, s.value(3), any(bson.A{"SystemOverloadedError", "RetryableError"}))
		backoff := pick[any](s, int32(1), int64(math.MaxInt64), -1, 1e18, "x", int32(100))
		doc = bsondoc.D("ok", 0, "code", code, "errmsg", "hostile", "errorLabels", labels, "baseBackoffMS", backoff)
	}
	for range s.IntN(4) {
		doc = s.altered(doc)
	}
	raw, err := bson.Marshal(doc)
	if err != nil {
		return reply
	}
	return raw
}

// message encodes a reply, which may say of itself what is not so.
func (s source) message(m *proxy.Message) []byte {
	if s.chance(2) { // which may be at places where it has a size and a compressor, below
		m.Compressor = pick(s, wiremessage.CompressorSnappy, wiremessage.CompressorZLib)
	}
	data := encode(m)
	if s.chance(3) {
		return s.flipped(data, 16)
	}
	lengths := []uint32{0, 1, 15, 16, 17, uint32(len(data) - 1), uint32(len(data) + 1), 48_000_001, math.MaxInt32, 1 << 31,
		math.MaxUint32}
	field := pick(s, []struct { // of the header, and the length of the document
		at     int
		values []uint32
	}{{0, lengths}, {8, []uint32{s.Uint32()}}, {12, []uint32{0, 1, 2004, 2010, 2011, 2012, 2013, s.Uint32()}},
		{16, []uint32{1, 2, 1 << 16, 3, s.Uint32()}}, {20, lengths}, {21, lengths}, {21, lengths}, {24, []uint32{0, 2, 3, 255}}}...)
	binary.LittleEndian.PutUint32(data[field.at:], pick(s, field.values...))
	return data
}

// deliveries are the ways in which a message does not arrive as one.
func (s source) deliveries(data []byte) (parts []virtual.Delivery) {
	late := time.Duration(s.Int64N(int64(silence)))
	whole, again := virtual.Delivery{Data: data}, virtual.Delivery{After: late, Data: data}
	switch s.IntN(6) {
	case 0:
		return []virtual.Delivery{whole, whole}
	case 1:
		return []virtual.Delivery{again}
	case 2: // a byte at a time, of long messages the first
		slow := min(len(data), 5000)
		for i := range slow {
			parts = append(parts, virtual.Delivery{After: late * time.Duration(i) / time.Duration(slow), Data: data[i : i+1]})
		}
		return append(parts, virtual.Delivery{After: late, Data: data[slow:]})
	case 3: // with something behind it, so that the next reply may begin with the length of one that never ends
		return []virtual.Delivery{whole, {Data: make([]byte, 1+s.IntN(40))}, {After: silence}}
	case 4:
		return []virtual.Delivery{whole, again}
	}
	offset := s.IntN(len(data) + 1)
	return []virtual.Delivery{{Data: data[:offset:offset]}, {}} // the connection is closed there
}
