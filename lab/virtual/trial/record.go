package trial

import (
	"context"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/virtual"
)

// recorder records what happens as lines, without what differs from run to run, and counts.
type recorder struct {
	start   time.Time
	workers *workers
	keep    bool
	// ordered is whether calls follow each other, so that it is not by chance which one gets which session.
	ordered bool
	// react is called for each event of a command.
	react func(ctx context.Context, event string)

	mu         sync.Mutex
	result     Trace // but for what follows
	calls      map[int]*tally
	numbers    map[string]map[string]int // of sessions, by their lsid, and of a session's transactions
	known      map[string]time.Time      // when servers were first known, by address
	selections map[string]int            // by the operation
	tokens     float64                   // at most, by the attempts that were sent
	leaving    bool                      // whether the client disconnects
	pending    map[int64]int             // events of commands by their number: those that start, less those that end
	held       int                       // connections
	asked      int                       // for connections
}

// tally is what a call comes to, by its commands.
type tally struct {
	sent, rejected   map[string]int // by name; rejected with NoWritesPerformed
	overloads        int            // errors
	others           int            // failures, but for code 391
	refused          bool           // the last command was rejected
	returned, ending time.Duration  // when it returned, but for its session's end; when a callback of WithTransaction last returned
}

// The token bucket of client-backpressure.md, "Adaptive retry".
const (
	tokensAtMost     = 1000 // and at first
	depositOfSuccess = 0.1
)

func newRecorder(keep, ordered bool) *recorder {
	return &recorder{start: time.Now(), keep: keep, ordered: ordered, calls: map[int]*tally{}, numbers: map[string]map[string]int{},
		known: map[string]time.Time{}, selections: map[string]int{}, tokens: tokensAtMost, pending: map[int64]int{}}
}

func (r *recorder) now() time.Duration { return time.Since(r.start) }

// note changes what is counted.
func (r *recorder) note(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// of returns what a call comes to. The recorder is locked.
func (r *recorder) of(call int) *tally {
	if r.calls[call] == nil {
		r.calls[call] = &tally{sent: map[string]int{}, rejected: map[string]int{}}
	}
	return r.calls[call]
}

// masks hide what differs from run to run: numbers of connections, ports of clients, and round trip times.
var masks = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\[-?\d+\]`), "[#]"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+->`), "client->"},
	{regexp.MustCompile(`Average RTT: \d+`), "Average RTT"},
	{regexp.MustCompile(`0x[0-9a-f]+`), "0x"},
}

// longest is the length from which on lines are shortened.
const longest = 5000

// masked returns a text as it is recorded.
func masked(text string) string {
	for _, mask := range masks {
		text = mask.what.ReplaceAllString(text, mask.with)
	}
	if len(text) > longest {
		text = fmt.Sprintf("%s… %x", text[:longest], sha256.Sum256([]byte(text)))
	}
	return text
}

// ofMonitors is what they do while a client disconnects: whether it meets one more check is by chance.
var ofMonitors = regexp.MustCompile(`^heartbeat|^topology|sees (hello|isMaster|ismaster)|^log "(Server heartbeat|Stopped|Topology desc)`)

func (r *recorder) line(format string, args ...any) {
	text := masked(fmt.Sprintf(format, args...))
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.now()
	if r.leaving {
		if ofMonitors.MatchString(text) {
			return
		}
		at = at.Truncate(100 * time.Millisecond)
	}
	for _, d := range Differences {
		if d.Hide == nil || !d.Hide.MatchString(text) {
			continue
		}
		if text = d.Hide.ReplaceAllString(text, ""); text == "" {
			return
		}
	}
	r.result.Lines = append(r.result.Lines, fmt.Sprintf("%12.3f %s", float64(at.Microseconds())/1000, text))
}

// ended records how a call ended.
func (r *recorder) ended(id int, kind string, result any, err error) {
	outcome := "no error"
	if err != nil {
		outcome = "an error"
		r.line("call %d %s error %T %q", id, kind, err, err)
		r.line("call %d %s is %s", id, kind, properties(err))
		r.line("call %d %s detail%s", id, kind, details(err))
	}
	if raw, ok := result.(bson.Raw); ok {
		result = raw.String()
	}
	r.line("call %d %s returns %+v, %s", id, kind, result, outcome)
}

// volatile are fields of commands that differ from run to run, or in the name of the driver.
var volatile = []string{"$clusterTime", "client", "topologyVersion", "payload", "speculativeAuthenticate"}

// command records a command as a server saw it.
func (r *recorder) command(c virtual.Command) {
	var fields []string
	elements, _ := c.Body.Elements()
	for _, e := range elements {
		switch {
		case e.Key() == "lsid":
			if n := r.number("", string(e.Value().Value)); r.ordered {
				fields = append(fields, fmt.Sprintf("lsid: %d", n))
			}
		case c.Name == "endSessions", slices.Contains(volatile, e.Key()), e.Key() == "txnNumber" && !r.ordered:
			fields = append(fields, e.Key())
		case e.Key() == "txnNumber": // a driver may leave some out
			fields = append(fields, fmt.Sprintf("txnNumber: %d", r.number(c.Body.Lookup("lsid").String(), e.Value().String())))
		default:
			fields = append(fields, fmt.Sprintf("%s: %v", e.Key(), e.Value()))
		}
	}
	if c.Compressed {
		fields = append(fields, "compressed")
	}
	r.line("server %s sees %s", c.Host, strings.Join(fields, ", "))
}

// number returns the number of one that was seen among others, from 1.
func (r *recorder) number(others, one string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.numbers[others] == nil {
		r.numbers[others] = map[string]int{}
	}
	numbers := r.numbers[others]
	if numbers[one] == 0 {
		numbers[one] = len(numbers) + 1
	}
	return numbers[one]
}

// meets notes that a server is known.
func (r *recorder) meets(address, kind string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.known[address]; !ok && kind != "Unknown" {
		r.known[address] = time.Now()
	}
}

// isNew reports whether a server is not known, or only from this instant on: in docs/differences.md, "a new pool" has what upstream's pool
// then does.
func (r *recorder) isNew(address string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.known[address]
	return !ok || at.Equal(time.Now())
}

// watch makes a client report to the recorder.
func (r *recorder) watch(opts *options.ClientOptions, logs bool) *options.ClientOptions {
	opts.SetMonitor(&event.CommandMonitor{
		Started: func(ctx context.Context, e *event.CommandStartedEvent) {
			call, _ := ctx.Value(callKey{}).(Call)
			r.note(func() {
				r.of(call.ID).sent[e.CommandName]++
				r.pending[e.RequestID]++
			})
			r.line("event started %s of call %d %s", e.CommandName, call.ID, call.Kind)
			r.react(ctx, "started")
		},
		Succeeded: func(ctx context.Context, e *event.CommandSucceededEvent) {
			r.finished(ctx, e.CommandFinishedEvent, nil)
			r.line("event succeeded %s after %v", e.CommandName, e.Duration)
			r.react(ctx, "succeeded")
		},
		Failed: func(ctx context.Context, e *event.CommandFailedEvent) {
			r.finished(ctx, e.CommandFinishedEvent, e.Failure)
			r.line("event failed %s after %v: %s", e.CommandName, e.Duration, describe(e.Failure))
			r.react(ctx, "failed")
		},
	})
	opts.SetPoolMonitor(&event.PoolMonitor{Event: r.pool})
	opts.SetServerMonitor(&event.ServerMonitor{
		ServerDescriptionChanged: func(e *event.ServerDescriptionChangedEvent) {
			r.meets(string(e.Address), e.NewDescription.Kind)
			r.line("server %s: %s to %s", e.Address, e.PreviousDescription.Kind, e.NewDescription.Kind)
			r.react(context.Background(), "described")
		},
		TopologyDescriptionChanged: func(e *event.TopologyDescriptionChangedEvent) {
			if e.PreviousDescription.Kind != e.NewDescription.Kind { // others depend on the order of hosts within an instant
				r.line("topology: %s to %s", e.PreviousDescription.Kind, e.NewDescription.Kind)
			}
		},
		ServerHeartbeatStarted: func(e *event.ServerHeartbeatStartedEvent) {
			r.line("heartbeat %s started, awaited %v", e.ConnectionID, e.Awaited)
		},
		ServerHeartbeatSucceeded: func(e *event.ServerHeartbeatSucceededEvent) {
			r.line("heartbeat %s succeeded after %v, awaited %v", e.ConnectionID, e.Duration.Round(time.Microsecond), e.Awaited)
		},
		ServerHeartbeatFailed: func(e *event.ServerHeartbeatFailedEvent) {
			r.line("heartbeat %s failed after %v, awaited %v: %s", e.ConnectionID, e.Duration.Round(time.Microsecond),
				e.Awaited, describe(e.Failure))
		},
	})
	if logs {
		opts.SetLoggerOptions(options.Logger().SetSink(r).SetComponentLevel(options.LogComponentAll, options.LogLevelDebug))
	}
	return opts
}

// finished counts a command that has ended.
func (r *recorder) finished(ctx context.Context, e event.CommandFinishedEvent, failure error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	call, _ := ctx.Value(callKey{}).(Call)
	c := r.of(call.ID)
	r.pending[e.RequestID]--
	c.refused = hasLabel(failure, "SystemOverloadedError")
	switch {
	case failure == nil:
		r.tokens = min(tokensAtMost, r.tokens+depositOfSuccess)
	case c.refused:
		c.overloads++
		if c.sent[e.CommandName] > 1 {
			r.tokens-- // a retry that fails for another reason returns its token
		}
	case !strings.Contains(failure.Error(), "ReauthenticationRequired"):
		c.others++
	}
	if hasLabel(failure, "NoWritesPerformed") {
		c.rejected[e.CommandName]++
	}
}

// pool records an event of a pool, and counts the connections that calls ask for, and have.
func (r *recorder) pool(e *event.PoolEvent) {
	if (e.Type == event.ConnectionPoolReady || e.Type == event.ConnectionPoolCleared) && r.isNew(e.Address) {
		if e.Type == event.ConnectionPoolReady && r.now() == 0 {
			r.note(func() { r.result.Early++ })
		}
		return
	}
	r.note(func() { r.hold(e.Type) })
	if e.Type == event.ConnectionCheckOutStarted {
		r.line("pool %s: %s %s %v by %d", e.Address, e.Type, e.Reason, e.Duration, r.workers.current())
		time.Sleep(r.workers.turn())
		return
	}
	r.line("pool %s: %s %s %v %s", e.Address, e.Type, e.Reason, e.Duration, describe(e.Error))
}

func (r *recorder) hold(what string) {
	switch what {
	case event.ConnectionPoolCleared:
		r.result.Cleared++
	case event.ConnectionCheckOutStarted:
		r.asked++
	case event.ConnectionCheckOutFailed:
		r.asked--
	case event.ConnectionCheckedOut:
		r.asked--
		r.held++
	case event.ConnectionCheckedIn:
		r.held--
	}
}

// unlogged are keys of the log whose values differ from run to run, or that say what the lines say already.
var unlogged = []string{"operationId", "tokens", "requestId", "driverConnectionId", "serverConnectionId", "command", "reply", "timestamp",
	"serviceId", "topologyId", "driverId", "message", "topologyDescription", "newDescription", "previousDescription"}

// Info implements options.LogSink.
func (r *recorder) Info(_ int, message string, keysAndValues ...any) {
	var pairs []string
	values := map[string]string{}
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		key, value := fmt.Sprint(keysAndValues[i]), fmt.Sprint(keysAndValues[i+1])
		if values[key] = value; !slices.Contains(unlogged, key) {
			pairs = append(pairs, key+": "+value)
		}
	}
	slices.Sort(pairs)
	r.note(func() {
		if operation, ok := values["operationId"]; ok && message == "Server selection started" {
			r.selections[operation]++
		}
		if tokens, err := strconv.ParseFloat(values["tokens"], 64); err == nil {
			r.result.Minted = max(r.result.Minted, tokens-r.tokens)
		}
	})
	if (message == "Connection pool ready" || message == "Connection pool cleared") &&
		r.isNew(values["serverHost"]+":"+values["serverPort"]) {
		return
	}
	r.line("log %q %s", message, strings.Join(pairs, ", "))
}

// Error implements options.LogSink.
func (r *recorder) Error(err error, message string, keysAndValues ...any) {
	r.Info(0, message, append(keysAndValues, "error", err)...)
}

// trace returns the lines in the order of their times; what happens in the same instant is sorted.
func (r *recorder) trace() Trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.result.Lines)
	t := r.result
	t.Digest = fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(t.Lines, "\n"))))
	t.Held = max(r.held, -r.held) + max(r.asked, -r.asked)
	for _, n := range r.pending {
		t.Unpaired += max(n, -n)
	}
	for _, n := range r.selections {
		t.Selections = max(t.Selections, n)
	}
	slices.SortFunc(t.Outcomes, func(x, y Outcome) int { return x.ID - y.ID })
	for i := range t.Outcomes {
		o := &t.Outcomes[i]
		c := r.of(o.ID)
		o.Index, o.Refused, o.Overloaded, o.Ending = i, c.refused, c.overloads > 0 && c.others == 0, c.ending
		for command, n := range c.sent {
			o.Attempts, o.Rejected = max(o.Attempts, n), o.Rejected || c.rejected[command] == n
		}
	}
	if !r.keep {
		t.Lines = nil
	}
	return t
}
