package trial

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/virtual"
)

// recorder records what happens as lines, without what differs from run to run.
type recorder struct {
	start   time.Time
	hosts   []string
	workers *workers
	keep    bool
	// ordered is whether calls follow each other, so that it is not by chance which one gets which session.
	ordered bool
	// react is called for each event of a command.
	react func(ctx context.Context, event string)

	mu         sync.Mutex
	lines      []string
	sessions   map[string]int // numbers sessions by their lsid
	attempts   map[attempt]int
	rejected   map[attempt]int      // of them with NoWritesPerformed
	overloads  map[int]int          // overload errors of a call's commands
	others     map[int]int          // other failures, but for code 391
	known      map[string]time.Time // when servers were first known, by address
	selections map[string]int       // by the operation
	tokens     float64              // at most, by the attempts that were sent
	cleared    int                  // pools
	early      int                  // pools that are ready at once
	leaving    bool                 // whether the client disconnects
	refused    map[int]bool         // calls whose last command was rejected
	pending    map[int64]int        // events of commands by their number: those that start, less those that end
	held       int                  // connections
	asked      int                  // for connections
	minted     float64              // what the log tells of beyond that
}

// The token bucket of client-backpressure.md, "Adaptive retry".
const (
	tokensAtMost     = 1000 // and at first
	depositOfSuccess = 0.1
)

// attempt identifies a command of a call.
type attempt struct {
	call    int
	command string
}

func newRecorder(hosts []string, keep, ordered bool) *recorder {
	return &recorder{start: time.Now(), hosts: hosts, keep: keep, ordered: ordered, sessions: map[string]int{},
		attempts: map[attempt]int{}, rejected: map[attempt]int{}, overloads: map[int]int{}, others: map[int]int{},
		refused: map[int]bool{}, pending: map[int64]int{}, known: map[string]time.Time{}, tokens: tokensAtMost,
		selections: map[string]int{}}
}

func (r *recorder) now() time.Duration { return time.Since(r.start) }

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
	r.lines = append(r.lines, fmt.Sprintf("%12.3f %s", float64(at.Microseconds())/1000, text))
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
		case slices.Contains(volatile, e.Key()):
			fields = append(fields, e.Key())
		case e.Key() == "lsid":
			r.mu.Lock()
			n, ok := r.sessions[string(e.Value().Value)]
			if !ok {
				n = len(r.sessions) + 1
				r.sessions[string(e.Value().Value)] = n
			}
			r.mu.Unlock()
			if r.ordered {
				fields = append(fields, fmt.Sprintf("lsid: %d", n))
			}
		case e.Key() == "txnNumber" && !r.ordered, c.Name == "endSessions":
			fields = append(fields, e.Key())
		default:
			fields = append(fields, fmt.Sprintf("%s: %v", e.Key(), e.Value()))
		}
	}
	if c.Compressed {
		fields = append(fields, "compressed")
	}
	r.line("server %s sees %s", c.Host, strings.Join(fields, ", "))
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

// named returns a value of the log.
func named(key string, keysAndValues []any) string {
	i := slices.Index(keysAndValues, any(key))
	if i < 0 || i+1 == len(keysAndValues) {
		return ""
	}
	return fmt.Sprint(keysAndValues[i+1])
}

// watch makes a client report to the recorder.
func (r *recorder) watch(opts *options.ClientOptions, logs bool) *options.ClientOptions {
	opts.SetMonitor(&event.CommandMonitor{
		Started: func(ctx context.Context, e *event.CommandStartedEvent) {
			call, _ := ctx.Value(callKey{}).(Call)
			r.mu.Lock()
			r.attempts[attempt{call.ID, e.CommandName}]++
			r.pending[e.RequestID]++
			r.mu.Unlock()
			r.line("event started %s of call %d %s", e.CommandName, call.ID, call.Kind)
			r.react(ctx, "started")
		},
		Succeeded: func(ctx context.Context, e *event.CommandSucceededEvent) {
			call, _ := ctx.Value(callKey{}).(Call)
			r.mu.Lock()
			r.pending[e.RequestID]--
			r.refused[call.ID] = false
			r.tokens = min(tokensAtMost, r.tokens+depositOfSuccess)
			r.mu.Unlock()
			r.line("event succeeded %s after %v", e.CommandName, e.Duration)
			r.react(ctx, "succeeded")
		},
		Failed: func(ctx context.Context, e *event.CommandFailedEvent) {
			call, _ := ctx.Value(callKey{}).(Call)
			r.mu.Lock()
			r.pending[e.RequestID]--
			r.refused[call.ID] = hasLabel(e.Failure, "SystemOverloadedError")
			this := attempt{call.ID, e.CommandName}
			if r.attempts[this] > 1 && hasLabel(e.Failure, "SystemOverloadedError") {
				r.tokens-- // a retry that fails for another reason returns its token
			}
			switch {
			case hasLabel(e.Failure, "SystemOverloadedError"):
				r.overloads[call.ID]++
			case !strings.Contains(e.Failure.Error(), "ReauthenticationRequired"):
				r.others[call.ID]++
			}
			if hasLabel(e.Failure, "NoWritesPerformed") {
				r.rejected[this]++
			}
			r.mu.Unlock()
			r.line("event failed %s after %v: %s", e.CommandName, e.Duration, describe(e.Failure))
			r.react(ctx, "failed")
		},
	})
	opts.SetPoolMonitor(&event.PoolMonitor{Event: func(e *event.PoolEvent) {
		if (e.Type == event.ConnectionPoolReady || e.Type == event.ConnectionPoolCleared) && r.isNew(e.Address) {
			if e.Type == event.ConnectionPoolReady && r.now() == 0 {
				r.early++
			}
			return
		}
		r.hold(e.Type)
		if e.Type == event.ConnectionPoolCleared {
			r.mu.Lock()
			r.cleared++
			r.mu.Unlock()
		}
		if e.Type == event.ConnectionCheckOutStarted {
			r.line("pool %s: %s %s %v by %d", e.Address, e.Type, e.Reason, e.Duration, r.workers.current())
			time.Sleep(r.workers.turn())
			return
		}
		r.line("pool %s: %s %s %v %s", e.Address, e.Type, e.Reason, e.Duration, describe(e.Error))
	}})
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

// hold counts the connections that calls ask for, and have.
func (r *recorder) hold(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch what {
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

// Info implements options.LogSink.
func (r *recorder) Info(_ int, message string, keysAndValues ...any) {
	var pairs []string
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		switch key := fmt.Sprint(keysAndValues[i]); key {
		case "operationId":
			if message == "Server selection started" {
				r.mu.Lock()
				r.selections[fmt.Sprint(keysAndValues[i+1])]++
				r.mu.Unlock()
			}
		case "tokens":
			tokens, _ := strconv.ParseFloat(fmt.Sprint(keysAndValues[i+1]), 64)
			r.mu.Lock()
			r.minted = max(r.minted, tokens-r.tokens)
			r.mu.Unlock()
		case "requestId", "driverConnectionId", "serverConnectionId", "command", "reply", "timestamp", "serviceId", "topologyId",
			"driverId", "message", "topologyDescription", "newDescription", "previousDescription":
		default:
			pairs = append(pairs, fmt.Sprintf("%s: %v", key, keysAndValues[i+1]))
		}
	}
	slices.Sort(pairs)
	if message == "Connection pool ready" || message == "Connection pool cleared" {
		if host, port := named("serverHost", keysAndValues), named("serverPort", keysAndValues); r.isNew(host + ":" + port) {
			return
		}
	}
	r.line("log %q %s", message, strings.Join(pairs, ", "))
}

// Error implements options.LogSink.
func (r *recorder) Error(err error, message string, keysAndValues ...any) {
	r.Info(0, message, append(keysAndValues, "error", err)...)
}

// most returns how often a call has sent its most frequent command, and whether one that was rejected was not sent again.
func (r *recorder) most(call int) (most int, rejected bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for a, n := range r.attempts {
		if a.call == call {
			most = max(most, n)
			rejected = rejected || r.rejected[a] == n
		}
	}
	return most, rejected
}

// overloaded reports whether nothing but overload errors ended the call's commands.
func (r *recorder) overloaded(call int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.overloads[call] > 0 && r.others[call] == 0
}

// trace returns the lines in the order of their times; what happens in the same instant is sorted.
func (r *recorder) trace() Trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.lines)
	t := Trace{Digest: fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(r.lines, "\n")))), Minted: r.minted,
		Cleared: r.cleared, Early: r.early,
		Held: max(r.held, -r.held) + max(r.asked, -r.asked)}
	for _, n := range r.pending {
		t.Unpaired += max(n, -n)
	}
	for _, n := range r.selections {
		t.Selections = max(t.Selections, n)
	}
	if r.keep {
		t.Lines = r.lines
	}
	return t
}

// describe returns an error's text, and what applications tell from it; nothing for nil.
func describe(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf("%T %q %s", err, err, properties(err))
}

// properties returns what helpers of package mongo and errors.Is tell from an error.
func properties(err error) string {
	var found []string
	if mongo.IsTimeout(err) {
		found = append(found, "timeout")
	}
	if mongo.IsNetworkError(err) {
		found = append(found, "network")
	}
	for _, target := range []error{context.DeadlineExceeded, context.Canceled, mongo.ErrClientDisconnected, mongo.ErrNoDocuments} {
		if errors.Is(err, target) {
			found = append(found, target.Error())
		}
	}
	for _, label := range []string{
		"RetryableWriteError", "TransientTransactionError", "UnknownTransactionCommitResult", "NoWritesPerformed",
		"SystemOverloadedError",
		"RetryableError", "ResumableChangeStreamError",
	} {
		if hasLabel(err, label) {
			found = append(found, label)
		}
	}
	return strings.Join(found, ", ")
}

func hasLabel(err error, label string) bool {
	var labelled mongo.LabeledError
	return errors.As(err, &labelled) && labelled.HasErrorLabel(label)
}

// details returns the fields of the errors of package mongo.
func details(err error) string {
	var text string
	var command mongo.CommandError
	if errors.As(err, &command) {
		text += fmt.Sprintf(" command %d %s %q", command.Code, command.Name, sorted(command.Labels))
	}
	var write mongo.WriteException
	if errors.As(err, &write) {
		text += fmt.Sprintf(" write %v %v %q", write.WriteErrors, write.WriteConcernError, sorted(write.Labels))
	}
	var bulk mongo.BulkWriteException
	if errors.As(err, &bulk) {
		text += fmt.Sprintf(" bulk %v %q", bulk.WriteConcernError, sorted(bulk.Labels))
		for _, one := range bulk.WriteErrors {
			text += fmt.Sprintf(" %d %d of %T", one.Index, one.Code, one.Request)
		}
	}
	var client mongo.ClientBulkWriteException
	if errors.As(err, &client) {
		text += fmt.Sprintf(" client bulk %v %v %v", client.WriteError, client.WriteConcernErrors, client.WriteErrors)
		if client.PartialResult != nil {
			text += fmt.Sprintf(" partial %+v", *client.PartialResult)
		}
	}
	return text
}

// sorted returns labels in order, each once.
func sorted(labels []string) []string {
	labels = slices.Clone(labels)
	slices.Sort(labels)
	return slices.Compact(labels)
}
