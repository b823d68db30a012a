package trial

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/virtual"
)

// recorder records what happens, without what differs from run to run, and counts.
type recorder struct {
	start   time.Time
	proxied bool // whether there is a load balancer, whose clients keep connections

	mu         sync.Mutex
	result     Trace // but for what follows
	lines      []line
	calls      map[int]*tally
	requests   map[int64]int             // calls, by the numbers of their messages
	passing    map[int64]bool            // messages that met a fault that retries get over
	numbers    map[string]map[string]int // of sessions, by their lsid, and of a session's transactions
	handshakes map[string]bool           // what servers see when connections are established
	commits    map[string]bool           // transactions of which a server executed the commit, or may have; if after code 50, true
	tokens     float64                   // at most, by the attempts that were sent
	leaving    bool                      // whether the client disconnects
	pending    map[int64]int             // events of commands by their number: those that start, less those that end
	pools      map[string]int            // their events, by type
}

const unpaired = "a command's event has not exactly one counterpart"

// line is what happened at a time, in a call, or in none.
type line struct {
	at   time.Duration
	call int
	text string
	// passing is what there is only because of a fault that retries get over, or because of time.
	passing bool
}

// tally is what a call comes to, by its commands.
type tally struct {
	Outcome
	sent        map[string]int // by name
	last, again string         // the last command, and the rejected one that the next has to be if it has its name
	overloads   int            // errors
	written     []int          // documents
}

func newRecorder() *recorder {
	return &recorder{start: time.Now(), calls: map[int]*tally{}, requests: map[int64]int{},
		passing: map[int64]bool{}, numbers: map[string]map[string]int{}, handshakes: map[string]bool{}, commits: map[string]bool{},
		tokens: tokensAtMost, pending: map[int64]int{}, pools: map[string]int{}}
}

func (r *recorder) now() time.Duration { return time.Since(r.start) }

// note changes what is counted.
func (r *recorder) note(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// flaw notes what must never happen. The recorder is locked.
func (r *recorder) flaw(is bool, what string) {
	if is && !slices.Contains(r.result.Flaws, what) {
		r.result.Flaws = append(r.result.Flaws, what)
	}
}

// of returns what a call comes to. The recorder is locked.
func (r *recorder) of(call int) *tally {
	if r.calls[call] == nil {
		r.calls[call] = &tally{sent: map[string]int{}}
	}
	return r.calls[call]
}

// masks hide what differs from run to run: numbers of connections, ports of clients, round trip times, what the servers' clock says;
// what the fork alone announces, and says of retries, and of a command that failed after others; whether a result is acknowledged; and the
// maxTimeMS of an aggregate that writes, of a commit and of an abort, which the fork alone gives them (client-side-operations-timeout.md,
// "Command Execution" and "Sessions").
var masks = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`:(\d+)\[-?\d+\]`), ":$1[#]"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+->`), "client->"},
	{regexp.MustCompile(`0x[0-9a-f]+`), "0x"},
	{regexp.MustCompile(`"t":\d+`), `"t":#`},
	{regexp.MustCompile(` \(no further retry after [^)]*\)`), ""},
	{regexp.MustCompile(`, backpressure: (true|"2")`), ""},
	{regexp.MustCompile(`bulk write exception: |Acknowledged:(true|false)`), ""},
	{regexp.MustCompile(`( sees (commitTransaction|abortTransaction|aggregate: .*"\$(out|merge)").*)` + maxTime.String()), "$1"},
}

// masked returns a text as it is recorded.
func masked(text string) string {
	for _, mask := range masks {
		text = mask.what.ReplaceAllString(text, mask.with)
	}
	return text
}

// line records a line of a call, or of none.
func (r *recorder) line(call int, passing bool, format string, args ...any) {
	text := masked(fmt.Sprintf(format, args...))
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.now()
	if r.leaving {
		at = at.Truncate(100 * time.Millisecond)
	}
	r.lines = append(r.lines, line{at.Truncate(time.Microsecond), call, text, passing})
}

// finish records how a call ended.
func (r *recorder) finish(id int, result any, err error) {
	if raw, ok := result.(bson.Raw); ok {
		result = raw.String()
	}
	r.line(id, false, "returns %+v, %s%s", result, describe(err), details(err))
}

// volatile are fields of commands that differ from run to run, or in the name of the driver.
var volatile = []string{"client", "topologyVersion", "payload", "speculativeAuthenticate"}

// text returns a command as it is recorded.
func (r *recorder) text(c virtual.Command) string {
	var fields []string
	elements, _ := c.Body.Elements()
	for _, e := range elements {
		switch {
		case e.Key() == "lsid":
			fields = append(fields, fmt.Sprintf("lsid: %d", r.number("", string(e.Value().Value))))
		case e.Key() == "endSessions":
			ended, _ := e.Value().Array().Values()
			fields = append(fields, fmt.Sprintf("endSessions: %d", len(ended)))
		case c.Name == "endSessions", slices.Contains(volatile, e.Key()):
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
	return strings.Join(fields, ", ")
}

// command records a command as a server saw it, and the fault that it meets, if there is one. It returns the command's call.
func (r *recorder) command(c virtual.Command, f *Fault) {
	text := r.text(c)
	if establishes(c.Name) { // when, and at which servers, is for the calls that wait for it
		r.note(func() {
			r.handshakes[masked("handshake "+maxTime.ReplaceAllString(text, ""))] = true
			silent := bsondoc.Has(c.Body, "client") && !bsondoc.Has(c.Body, "backpressure")
			r.flaw(silent, "a handshake does not announce backpressure")
		})
		return
	}
	call, isPassing := 0, f != nil && f.Passing
	r.note(func() {
		call = r.requests[int64(c.Request)]
		r.passing[int64(c.Request)] = isPassing
		if call > 0 {
			r.sentAgain(r.of(call), c.Name, text)
			r.endOfTransaction(c, f)
		}
	})
	where := c.Host
	if c.Name == "endSessions" {
		where = "a server" // none is better than another
	}
	r.line(call, isPassing, "%s sees %s", where, text)
}

var maxTime = regexp.MustCompile(`, maxTimeMS: \{"\$numberLong":"\d+"\}`)

// changing is what a command may have otherwise when it is sent again, or for the first time in the next transaction.
var changing = regexp.MustCompile(maxTime.String() +
	`|(, txnNumber: \d+)?, startTransaction: true|, \$clusterTime: \{[^}]*\}+|,?"afterClusterTime": \{[^}]*\}\}`)

// sentAgain counts a command that has to be the rejected one, and is not, and one that is sent again. A killCursors may be for the next
// cursor. The recorder is locked.
func (r *recorder) sentAgain(c *tally, name, text string) {
	text = changing.ReplaceAllString(text, "")
	r.flaw(strings.HasPrefix(c.again, name+":") && c.again != text && name != "killCursors", "a retry is another command")
	if c.last == text && c.Failed+c.overloads > 0 && len(c.sent) == 1 {
		c.Retries++
	}
	c.last, c.again = text, ""
}

// endOfTransaction looks for ends of transactions that must not follow a commit. The recorder is locked.
func (r *recorder) endOfTransaction(c virtual.Command, f *Fault) {
	transaction := c.Body.Lookup("lsid").String() + c.Body.Lookup("txnNumber").String()
	expired, committed := r.commits[transaction]
	commits := committed && c.Name == "commitTransaction"
	r.flaw(committed && c.Name == "abortTransaction", "a transaction is aborted that may have been committed")
	r.flaw(commits && expired, "a commit is sent again after MaxTimeMSExpired")
	r.flaw(commits && !strings.Contains(c.Body.String(), `"majority"`), "a commit that is sent again is not for the majority")
	if c.Name == "commitTransaction" && (f == nil || f.What != Reject) {
		r.commits[transaction] = f != nil && f.Code == 50
	}
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

// trace returns what has been recorded. Lines are in the order of their times; what happens in the same instant is sorted.
func (r *recorder) trace() Trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	had, asked := r.pools[event.ConnectionCheckedOut], r.pools[event.ConnectionCheckOutStarted]-r.pools[event.ConnectionCheckOutFailed]
	r.flaw(had != r.pools[event.ConnectionCheckedIn] || asked != had, "a connection is not returned")
	for _, n := range r.pending {
		r.flaw(n != 0, unpaired)
	}
	t := r.result
	t.Cleared = r.pools[event.ConnectionPoolCleared]
	for _, l := range r.lines {
		if !l.passing {
			t.Calls = append(t.Calls, fmt.Sprintf("call %d: %s", l.call, inCalls.ReplaceAllString(l.text, "")))
		}
	}
	slices.SortStableFunc(t.Calls, func(a, b string) int { return strings.Compare(a[:8], b[:8]) })
	slices.SortFunc(r.lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.at, b.at), a.call-b.call, strings.Compare(a.text, b.text))
	})
	for _, l := range r.lines {
		t.Lines = append(t.Lines, fmt.Sprintf("%v, call %d: %s", l.at, l.call, l.text))
	}
	for _, id := range slices.Sorted(maps.Keys(r.calls)) {
		c := r.calls[id]
		if id == 0 {
			continue
		}
		c.Overloaded = c.overloads > 0 && c.Failed == 0
		for _, n := range c.sent {
			c.Attempts = max(c.Attempts, n)
		}
		t.Outcomes = append(t.Outcomes, c.Outcome)
	}
	return t
}

// The token bucket of client-backpressure.md, "Adaptive retry".
const (
	tokensAtMost     = 1000 // and at first
	depositOfSuccess = 0.1
)

// started counts a command that begins.
func (r *recorder) started(ctx context.Context, e *event.CommandStartedEvent) {
	call := callOf(ctx)
	r.note(func() {
		r.of(call).sent[e.CommandName]++
		r.pending[e.RequestID]++
		_, known := r.requests[e.RequestID]
		r.flaw(known, unpaired)
		r.requests[e.RequestID] = call
	})
	r.line(call, true, "started %s%s", e.CommandName, map[bool]string{true: " of a service"}[e.ServiceID != nil])
}

// finished counts a command that has ended, and reports whether that was because of a fault that retries get over.
func (r *recorder) finished(ctx context.Context, e event.CommandFinishedEvent, failure error) (passing bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.of(callOf(ctx))
	r.pending[e.RequestID]--
	c.Refused = hasLabel(failure, "SystemOverloadedError")
	switch {
	case failure == nil:
		r.tokens = min(tokensAtMost, r.tokens+depositOfSuccess)
	case c.Refused:
		c.again = c.last
		c.overloads++
		if c.sent[e.CommandName] > 1 {
			r.tokens-- // a retry that fails for another reason returns its token
		}
	case !strings.Contains(failure.Error(), "ReauthenticationRequired"):
		c.Failed++
		c.again = "" // a commit that met a network error is sent again for the majority
	}
	return r.passing[e.RequestID]
}

// pool counts events of pools.
func (r *recorder) pool(e *event.PoolEvent) {
	r.note(func() {
		r.pools[e.Type]++
		r.flaw(e.Type == event.ConnectionPoolReady && r.now() == 0 && !r.proxied, "a pool is ready before its server is known")
	})
}

// Info implements options.LogSink. The log repeats what events say, but for the tokens.
func (r *recorder) Info(_ int, _ string, keysAndValues ...any) {
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		if fmt.Sprint(keysAndValues[i]) != "tokens" {
			continue
		}
		var tokens float64
		if _, err := fmt.Sscan(fmt.Sprint(keysAndValues[i+1]), &tokens); err == nil {
			r.note(func() { r.result.Minted = max(r.result.Minted, tokens-r.tokens) })
		}
	}
}

// Error implements options.LogSink.
func (*recorder) Error(error, string, ...any) {}
