package hostile

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/wire"
	"mongofork/lab/virtual"
	"mongofork/lab/virtual/trial"
)

// What a driver may use up, whatever a server does.
const (
	maxMemory   = 96 << 20      // bytes that a run allocates in all,
	perLie      = 48_000_000    // and for a message that is not what it says: the longest that a server may send
	maxWork     = 4000          // ms of the processor
	maxPatience = 2 * time.Hour // of virtual time, for a call without a deadline
	// maxLate is how late a call may end after its deadline, because other messages of that instant have to be handled, too.
	maxLate = 10 * time.Millisecond
	silence = 20 * time.Second // how long a server is silent before it ends the connection
	// maxGrace is what closing a cursor or a stream, or aborting a transaction, may take once the context has ended.
	maxGrace    = 2 * time.Second
	leaving     = 10_010 // ms that Disconnect takes at most
	perCall     = 60     // commands of one call, with those that establish its connections
	perSecond   = 30     // commands of monitors and pools
	perCommand  = 12     // log lines
	linesAtBest = 100
)

// run is one run of a plan.
type run struct {
	plan    Plan
	cluster *virtual.Cluster
	lines   atomic.Int64
	held    atomic.Int64 // connections that are checked out

	mu       sync.Mutex
	chance   chance
	names    map[asked]string
	lies     int
	closed   bool            // at the offset
	accepted map[string]bool // commands of the present call to which the server said that they succeeded
	commands int
	findings []string
}

// asked is a request of a connection.
type asked struct {
	server  net.Conn
	request uint32
}

// Run runs a plan in the bubble of the test, and returns which rules were broken.
func Run(t *testing.T, plan Plan) []string {
	r := &run{plan: plan, chance: chance{mathrand.New(mathrand.NewPCG(plan.Seed, 1))}, names: map[asked]string{}}
	rand.Reader = &trial.Chance{Seed: plan.Seed}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work := worked()

	opts := virtual.Options{Topology: plan.Topology, Batch: 2}
	if plan.Mechanism != "" {
		opts.Auth = &virtual.Auth{Speculative: plan.Seed%2 == 0, Exchange: plan.Seed%3 == 0}
	}
	r.cluster = virtual.New(t, opts)
	for id := range 7 {
		r.cluster.Put("db.c", bsondoc.D("_id", id, "call", 0, "n", 1))
	}
	r.cluster.Put("db.fs.files", bsondoc.D("_id", "file", "length", int64(3), "chunkSize", int32(2), "filename", "x"))
	for n, data := range []string{"ab", "c"} {
		r.cluster.Put("db.fs.chunks", bsondoc.D("_id", n, "files_id", "file", "n", int32(n), "data", bson.Binary{Data: []byte(data)}))
	}
	r.cluster.Intercept(r.intercept)
	r.cluster.Tamper(r.tamper)
	r.use()

	runtime.ReadMemStats(&after)
	r.atMost("bytes of memory", int(after.TotalAlloc-before.TotalAlloc), maxMemory+perLie*r.lies)
	r.atMost("ms of the processor", int((worked()-work)/time.Millisecond), maxWork)
	return r.findings
}

// use is the application.
func (r *run) use() {
	client, err := mongo.Connect(r.client())
	if err != nil {
		r.find("Connect: %v", err)
		return
	}
	begin := time.Now()
	for _, call := range r.plan.Calls {
		r.call(client, call)
	}
	r.atMost("sessions in use", client.NumberSessionsInProgress(), 0)
	r.atMost("connections checked out", int(r.held.Load()), 0)
	start := time.Now()
	_ = client.Disconnect(context.Background()) // with a deadline it would wait for those
	r.atMost("ms for Disconnect", int(time.Since(start)/time.Millisecond), leaving)
	r.atMost("commands", r.commands, 100+perCall*len(r.plan.Calls)+int(perSecond*time.Since(begin).Seconds()))
	r.atMost("log lines", int(r.lines.Load()), linesAtBest+perCommand*(r.commands+r.cluster.Connections()))
	time.Sleep(time.Minute) // what was under way ends
	r.atMost("open connections", r.cluster.Open(), 0)
}

// atMost notes if there is more of something than there may be.
func (r *run) atMost(what string, n, most int) {
	if n > most {
		r.find("%d %s, at most %d may be", n, what, most)
	}
}

// Info and Error count log lines.
func (r *run) Info(int, string, ...any)    { r.lines.Add(1) }
func (r *run) Error(error, string, ...any) { r.lines.Add(1) }
func (r *run) find(format string, arguments ...any) {
	r.findings = append(r.findings, fmt.Sprintf(format, arguments...))
}

func (r *run) client() *options.ClientOptions {
	opts := r.cluster.Client(r.plan.Options...).SetServerSelectionTimeout(10 * time.Second).SetLoggerOptions(
		options.Logger().SetSink(r).SetComponentLevel(options.LogComponentAll, options.LogLevelDebug))
	opts.SetPoolMonitor(&event.PoolMonitor{Event: func(e *event.PoolEvent) {
		switch e.Type {
		case event.ConnectionCheckedOut:
			r.held.Add(1)
		case event.ConnectionCheckedIn:
			r.held.Add(-1)
		}
	}})
	if r.plan.Mechanism != "" {
		opts.SetAuth(virtual.Credential(r.plan.Mechanism))
	}
	return opts
}

// call makes a call, and judges when and how it ends.
func (r *run) call(client *mongo.Client, call Call) {
	r.mu.Lock()
	r.accepted = map[string]bool{}
	r.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	most := maxPatience
	if call.Deadline > 0 {
		ctx, cancel = context.WithTimeout(ctx, call.Deadline)
		most = call.Deadline + maxLate
		switch call.Kind {
		case "find", "countDocuments", "watch", "download", "clientBulkWriteMany", "listCollections", "listIndexes":
			most += maxGrace
		case "insertOne/within": // whose abort has the time of the call anew
			most += call.Deadline + maxGrace
		}
	}
	defer cancel()
	endless := time.AfterFunc(maxPatience, func() { panic(fmt.Sprintf("%s does not end within %v", call.Kind, maxPatience)) })
	defer endless.Stop()
	start := time.Now()
	err := trial.Caught(func() error { return do(ctx, client, call.Kind) })
	if errors.Is(err, trial.ErrPanic) {
		r.find("%s: %v", call.Kind, err)
	}
	if d := time.Since(start); d > most {
		r.find("%s took %v, its deadline is %v", call.Kind, d, call.Deadline)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && len(r.accepted) == 0 {
		r.find("%s is a success, although no server said so", call.Kind)
	}
}

// intercept notes which command a message will answer.
func (r *run) intercept(c virtual.Command, run func() bson.Raw) bson.Raw {
	r.mu.Lock()
	r.commands++
	r.names[asked{c.Conn, uint32(c.Request)}] = c.Name
	r.mu.Unlock()
	return run()
}

// tamper decides what becomes of a message.
func (r *run) tamper(server net.Conn, message []byte) []virtual.Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := r.names[asked{server, binary.LittleEndian.Uint32(message[8:])}]
	message = slices.Clone(message)
	m, err := wire.Read(strings.NewReader(string(message)))
	if err != nil {
		return []virtual.Delivery{{Data: message}}
	}
	parts := []virtual.Delivery{{Data: message}}
	switch {
	case r.plan.On != "" && r.plan.On != name && (r.plan.On != "hello" || !strings.EqualFold(name, "isMaster")):
	case r.plan.Offset >= 0 && !r.closed && r.plan.Offset < len(message):
		r.closed, m.Body, parts = true, nil, closedAt(message, r.plan.Offset)
	case r.plan.Offset >= 0 || !r.chance.percent(r.plan.Percent):
	default:
		parts = r.worsened(m, message)
	}
	if m.Body != nil && succeeded(name, m.Body) {
		r.accepted[name] = true
	}
	return parts
}

// worsened returns what the client gets instead of a message. What cannot be read has no body.
func (r *run) worsened(m *wire.Message, message []byte) []virtual.Delivery {
	c := r.chance
	switch c.IntN(4) {
	case 0:
		return c.deliveries(message)
	case 1:
		message = c.message(m)
		r.lies++
		if again, err := wire.Read(strings.NewReader(string(message))); err == nil {
			m.Body = again.Body
		}
		return []virtual.Delivery{{Data: message}, {After: silence}}
	}
	m.Body = c.document(m.Body)
	if c.percent(10) {
		return c.deliveries(encode(m))
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
	_, errs := reply.Lookup("writeErrors").ArrayOK()
	_, concern := reply.Lookup("writeConcernError").DocumentOK()
	writes := slices.Contains([]string{"insert", "update", "delete"}, name)
	return ok && !(writes && (errs || concern))
}

// worked returns how long the process has used the processor.
func worked() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
