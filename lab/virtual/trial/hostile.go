package trial

import (
	"encoding/binary"
	"net"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/wire"
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
	b.topology("standalone", "replicaset:1", "replicaset:3", "sharded:2", "loadbalanced:1")
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
	m, err := wire.Read(strings.NewReader(string(message)))
	if err != nil {
		return []virtual.Delivery{{Data: message}}
	}
	parts := []virtual.Delivery{{Data: message}}
	switch {
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
func (h *attack) worsened(m *wire.Message, message []byte) []virtual.Delivery {
	switch h.IntN(4) {
	case 0:
		return h.deliveries(message)
	case 1:
		message = h.message(m)
		h.lies++
		if again, err := wire.Read(strings.NewReader(string(message))); err == nil {
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

func encode(m *wire.Message) []byte {
	var encoded strings.Builder
	if err := wire.Write(&encoded, m); err != nil {
		panic(err)
	}
	return []byte(encoded.String())
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
