package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"mongofork/lab/virtual"
)

// Trace is what happened in a trial.
type Trace struct {
	Lines  []string // all that happened, with times
	Calls  []string // what happened in the calls: see trace
	Flaws  []string // the rules that were broken, and by what
	Opened int      // connections
	Crash  string   // why there is no trace
}

// application is what a plan runs, with what is recorded of it, without what differs from run to run.
type application struct {
	plan    Plan
	cluster *virtual.Cluster
	client  *mongo.Client
	start   time.Time

	mu         sync.Mutex
	result     Trace // but for what follows
	lines      []line
	calls      map[int]*tally
	arrived    map[int]int               // commands that a fault concerned, by its number
	requests   map[int64]int             // calls, by the numbers of their messages
	passing    map[int64]bool            // messages that met a fault that retries get over
	numbers    map[string]map[string]int // of sessions, by their lsid, and of a session's transactions
	handshakes map[string]bool           // what servers see when connections are established
	commits    map[string]bool           // transactions of which a server executed the commit, or may have; if after code 50, true
	leaving    time.Duration             // when the client disconnects
	pending    map[int64]int             // events of commands by their number: those that start, less those that end
	pools      map[string]int            // their events, by type
	unstarted  int                       // commands of transactions that have not been started there
	tokens     float64                   // at most, by client-backpressure.md, "Token Bucket"
	minted     float64                   // how many more there were
	hostile    attack
}

// line is what happened at a time, in a call, or in none.
type line struct {
	at      time.Duration
	call    int
	text    string
	passing bool // what there is only because of a fault that retries get over, or because of time
}

// tally is what a call comes to.
type tally struct {
	Call
	Start, End time.Duration
	err        error
	Failed     int            // commands that failed without an overload
	Overloads  int            // commands that failed with one
	Refused    bool           // its last command was rejected
	Retries    int            // commands that were sent again after a failure, if no other one was sent
	ended      time.Duration  // when the last command did
	backoffs   []float64      // of its retries after overload errors, or of its transaction, as parts of the longest that is allowed
	Done       int64          // how often the servers did what it asked for
	Lost       bool           // whether they did not, or lack a document that it inserted
	sent       map[string]int // commands, by name
	again      string         // the rejected command that the next has to be if it has its name
	last       string
	written    []int // documents
}

func newApplication(plan Plan) *application {
	a := &application{plan: plan, start: time.Now(), calls: map[int]*tally{}, arrived: map[int]int{}, requests: map[int64]int{},
		passing: map[int64]bool{}, numbers: map[string]map[string]int{}, handshakes: map[string]bool{}, commits: map[string]bool{},
		pending: map[int64]int{}, pools: map[string]int{}, tokens: 1000}
	random := source{rand.New(rand.NewPCG(plan.Seed, 1))}
	a.hostile = attack{source: random, commands: map[int32]string{}, accepted: map[int]bool{}}
	a.hostile.memory, a.hostile.worked = used()
	return a
}

func (a *application) now() time.Duration { return time.Since(a.start) }

// note changes what is counted.
func (a *application) note(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

// flaw notes that a rule is broken. The application is locked.
func (a *application) flaw(is bool, what string) {
	if is && !slices.Contains(a.result.Flaws, what) {
		a.result.Flaws = append(a.result.Flaws, what)
	}
}

// of returns what a call comes to; 0 stands for what is in none.
func (a *application) of(call int) *tally {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls[call] == nil {
		a.calls[call] = &tally{sent: map[string]int{}}
	}
	return a.calls[call]
}

// masks hide, but for their first group, what differs from run to run: numbers of connections, ports of clients, the servers' clock;
// what the fork alone announces, and says of retries, and of a command that failed after others; whether a result is acknowledged; and the
// maxTimeMS of an aggregate that writes, of a commit and of an abort, which the fork alone gives them (client-side-operations-timeout.md,
// "Command Execution" and "Sessions").
var masks = []*regexp.Regexp{
	regexp.MustCompile(`(:\d+)\[-?\d+\]`),
	regexp.MustCompile(`127\.0\.0\.1:\d+->|"t":\d+| \(no further retry after [^)]*\)|, backpressure: (?:true|"2")`),
	regexp.MustCompile(`bulk write exception: |Acknowledged:(?:true|false)`),
	regexp.MustCompile(`( sees (commitTransaction|abortTransaction|aggregate: .*"\$(out|merge)").*)` + maxTime.String()),
}

// masked returns a text as it is recorded.
func masked(text string) string {
	for _, mask := range masks {
		text = mask.ReplaceAllString(text, "$1")
	}
	return text
}

// line records a line of a call, or of none.
func (a *application) line(call int, passing bool, format string, args ...any) {
	text := masked(fmt.Sprintf(format, args...))
	a.mu.Lock()
	defer a.mu.Unlock()
	at := a.now()
	a.lines = append(a.lines, line{at.Truncate(time.Microsecond), call, text, passing})
}

// finish records how a call ended, and what its error says about the statements of a write.
func (a *application) finish(id int, result any, err error) {
	if raw, ok := result.(bson.Raw); ok {
		result = raw.String()
	}
	text := ""
	var bulk mongo.BulkWriteException
	if errors.As(err, &bulk) {
		for _, one := range bulk.WriteErrors {
			text += fmt.Sprintf(" %d %d of %T", one.Index, one.Code, one.Request)
		}
	}
	var client mongo.ClientBulkWriteException
	if errors.As(err, &client) {
		text += fmt.Sprintf(" %v", client.WriteErrors)
	}
	a.line(id, false, "returns %+v, %s%s", result, describe(err), text)
}

// describe returns an error's text, and what helpers of package mongo and errors.Is tell from it, and the labels that applications may ask
// for.
func describe(err error) string {
	if err == nil {
		return "no error"
	}
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
	for _, label := range []string{"RetryableWriteError", "TransientTransactionError", "UnknownTransactionCommitResult",
		"NoWritesPerformed", "SystemOverloadedError", "RetryableError", "ResumableChangeStreamError"} {
		if hasLabel(err, label) {
			found = append(found, label)
		}
	}
	return fmt.Sprintf("%T %q %s", err, err, strings.Join(found, ", "))
}

func hasLabel(err error, label string) bool {
	var labelled mongo.LabeledError
	return errors.As(err, &labelled) && labelled.HasErrorLabel(label)
}

// volatile are fields of commands that differ from run to run, or in the name of the driver.
var volatile = []string{"client", "topologyVersion", "payload", "speculativeAuthenticate"}

// text returns a command as it is recorded.
func (a *application) text(c virtual.Command) string {
	var fields []string
	elements, _ := c.Body.Elements()
	for _, e := range elements {
		switch {
		case e.Key() == "lsid":
			fields = append(fields, fmt.Sprintf("lsid: %d", a.number("", string(e.Value().Value))))
		case e.Key() == "endSessions":
			ended, _ := e.Value().Array().Values()
			fields = append(fields, fmt.Sprintf("endSessions: %d", len(ended)))
		case c.Name == "endSessions", slices.Contains(volatile, e.Key()):
			fields = append(fields, e.Key())
		case e.Key() == "txnNumber": // a driver may leave some out
			fields = append(fields, fmt.Sprintf("txnNumber: %d", a.number(c.Body.Lookup("lsid").String(), e.Value().String())))
		default:
			fields = append(fields, fmt.Sprintf("%s: %v", e.Key(), e.Value()))
		}
	}
	if c.Compressed {
		fields = append(fields, "compressed")
	}
	return strings.Join(fields, ", ")
}

// number returns the number of one that was seen among others, from 1. The application is locked.
func (a *application) number(others, one string) int {
	if a.numbers[others] == nil {
		a.numbers[others] = map[string]int{}
	}
	numbers := a.numbers[others]
	if numbers[one] == 0 {
		numbers[one] = len(numbers) + 1
	}
	return numbers[one]
}

// command records a command as a server saw it, and the fault that it meets, if there is one.
func (a *application) command(c virtual.Command, f *Fault) {
	call, isPassing, text := 0, f != nil && f.Passing, ""
	a.note(func() {
		text = a.text(c)
		if establishes(c.Name) { // when, and at which servers, is for the calls that wait for it
			a.handshakes[masked("handshake "+maxTime.ReplaceAllString(text, ""))] = true
			return
		}
		call = a.requests[int64(c.Request)]
		a.passing[int64(c.Request)] = isPassing
		if call > 0 {
			a.sentAgain(a.calls[call], c.Name, text)
			a.endOfTransaction(c, f)
		}
	})
	if !establishes(c.Name) {
		a.line(call, isPassing, "%s sees %s", c.Host, text)
	}
}

var maxTime = regexp.MustCompile(`, maxTimeMS: \{"\$numberLong":"\d+"\}`)

// changing is what a command may have otherwise when it is sent again, or for the first time in the next transaction.
var changing = regexp.MustCompile(maxTime.String() +
	`|(, txnNumber: \d+)?, startTransaction: true|, \$clusterTime: \{[^}]*\}+|,?"afterClusterTime": \{[^}]*\}\}`)

// sentAgain looks for a command that has to be the rejected one, and is not. A killCursors may be for the next cursor. The application is
// locked.
func (a *application) sentAgain(c *tally, name, text string) {
	text = changing.ReplaceAllString(text, "")
	a.flaw(strings.HasPrefix(c.again, name+":") && c.again != text && name != "killCursors",
		fmt.Sprintf("a retry is another command: %s; %s", c.again, text))
	if c.last == text && c.Failed+c.Overloads > 0 && len(c.sent) == 1 {
		c.Retries++
	}
	c.last, c.again = text, ""
}

// endOfTransaction looks for ends of transactions that must not follow a commit. The application is locked.
func (a *application) endOfTransaction(c virtual.Command, f *Fault) {
	transaction := c.Body.Lookup("lsid").String() + c.Body.Lookup("txnNumber").String()
	expired, committed := a.commits[transaction]
	commits := committed && c.Name == "commitTransaction"
	a.flaw(committed && c.Name == "abortTransaction", "a transaction is aborted that may have been committed")
	a.flaw(commits && expired, "a commit is sent again after MaxTimeMSExpired")
	a.flaw(commits && !strings.Contains(c.Body.String(), `"majority"`), "a commit that is sent again is not for the majority")
	if c.Name == "commitTransaction" && (f == nil || f.What != Reject) {
		a.commits[transaction] = f != nil && f.Code == 50
	}
}

const unpaired = "a command's event has not exactly one counterpart"

// started counts a command that begins.
func (a *application) started(ctx context.Context, e *event.CommandStartedEvent) {
	call := callOf(ctx)
	c := a.of(call)
	a.note(func() {
		if c.Failed == 0 && c.Refused || c.Overloads == 0 && strings.HasPrefix(c.last, "abortTransaction:") {
			c.backoffs = append(c.backoffs, float64(a.now()-c.ended)/longest(c))
		}
		c.sent[e.CommandName]++
		a.pending[e.RequestID]++
		_, known := a.requests[e.RequestID]
		a.flaw(known, unpaired)
		a.requests[e.RequestID] = call
	})
	a.line(call, true, "started %s%s", e.CommandName, map[bool]string{true: " of a service"}[e.ServiceID != nil])
}

// longest returns how long the next backoff of a call may be: client-backpressure.md, "Overload retry policy", and
// transactions-convenient-api.md, "Sequence of actions". The newer revisions begin with the second one of the older.
func longest(c *tally) float64 {
	first, factor, most := 100*time.Millisecond, 2.0, 10*time.Second
	if c.Failed > 0 { // it is the transaction's
		first, factor, most = 5*time.Millisecond, 1.5, 500*time.Millisecond
	}
	n := map[bool]int{true: 0, false: -1}[Newest()] + c.Failed + c.Overloads
	return min(float64(first)*math.Pow(factor, float64(n)), float64(most))
}

// finished counts a command that has ended, and reports whether that was because of a fault that retries get over.
func (a *application) finished(ctx context.Context, e event.CommandFinishedEvent, failure error) (passing bool) {
	c := a.of(callOf(ctx))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending[e.RequestID]--
	c.Refused, c.ended = hasLabel(failure, "SystemOverloadedError"), a.now()
	switch {
	case failure == nil:
		a.tokens = min(1000, a.tokens+0.1)
	case c.Refused:
		c.again = c.last
		c.Overloads++
		if c.sent[e.CommandName] > 1 {
			a.tokens-- // a retry that fails for another reason returns its token
		}
	case !strings.Contains(failure.Error(), "ReauthenticationRequired"):
		if e.CommandName != "abortTransaction" { // the server ends some transactions by itself
			c.Failed++
		}
		c.again = "" // a commit that met a network error is sent again for the majority
	}
	return a.passing[e.RequestID]
}

// pool counts events of pools.
func (a *application) pool(e *event.PoolEvent) {
	a.note(func() {
		a.pools[e.Type]++
		early := e.Type == event.ConnectionPoolReady && a.now() == 0 && !a.plan.Proxied()
		a.flaw(early, "a pool is ready before its server is known")
	})
}

// inCalls hides what a call need not have in common with one that has got over rejections: servers, and times.
var inCalls = regexp.MustCompile(`127\.0\.0\.1:\d+|` + maxTime.String() + `|, \$clusterTime: \{[^}]*\}+`)

// trace returns what has been recorded. Lines are in the order of their times; what happens in the same instant is sorted. Calls are lines
// in the order of the calls, without what passes.
func (a *application) trace() Trace {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.result
	for _, l := range a.lines {
		if !l.passing {
			t.Calls = append(t.Calls, fmt.Sprintf("call %d: %s", l.call, inCalls.ReplaceAllString(l.text, "")))
		}
	}
	slices.SortStableFunc(t.Calls, func(a, b string) int { return strings.Compare(a[:8], b[:8]) })
	slices.SortFunc(a.lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.at, b.at), a.call-b.call, strings.Compare(a.text, b.text))
	})
	for _, l := range a.lines {
		t.Lines = append(t.Lines, fmt.Sprintf("%v, call %d: %s", l.at, l.call, l.text))
	}
	return t
}

// tallies returns those of calls, in their order.
func (a *application) tallies() (all []*tally) {
	for _, id := range slices.Sorted(maps.Keys(a.calls)) {
		if id > 0 {
			all = append(all, a.calls[id])
		}
	}
	return all
}

// rule is what must not be, of a call or of all that happened.
type rule struct {
	text   string
	of     func(Plan) bool // the plans that it is for; nil stands for all
	ofCall func(Plan, *tally) bool
	ofAll  func(*application) bool
}

// judge notes which rules are broken.
func (a *application) judge() {
	a.mu.Lock()
	defer a.mu.Unlock()
	some := rules
	if a.plan.isHostile() {
		some = ofHostile
	}
	for _, r := range slices.Concat(always, some) {
		switch {
		case r.of != nil && !r.of(a.plan):
		case r.ofAll != nil:
			a.flaw(r.ofAll(a), r.text)
		default:
			for _, c := range a.tallies() {
				if r.ofCall(a.plan, c) {
					a.flaw(true, fmt.Sprintf("%s: %+v, from %v to %v: %s", r.text, c.Call, c.Start, c.End,
						describe(c.err)))
				}
			}
		}
	}
}

const roundTrip = 2 * time.Millisecond

// always holds also with hostile servers.
var always = []rule{
	{text: "a connection is not returned", ofAll: func(a *application) bool {
		had := a.pools[event.ConnectionCheckedOut]
		asked := a.pools[event.ConnectionCheckOutStarted] - a.pools[event.ConnectionCheckOutFailed]
		return had != a.pools[event.ConnectionCheckedIn] || asked != had
	}},
	{text: unpaired, ofAll: func(a *application) bool {
		maps.DeleteFunc(a.pending, func(_ int64, n int) bool { return n == 0 })
		return len(a.pending) > 0
	}},
}

// rules hold with servers that are not hostile.
var rules = []rule{
	{text: "a write took place twice", ofCall: func(_ Plan, c *tally) bool { return c.Done > 1 }},
	{text: "an acknowledged write is lost", ofCall: func(_ Plan, c *tally) bool { return c.ok() && c.Lost }},
	{text: "a call outlives its deadline", ofCall: outlives},
	// Until a deadline a driver sends commands again and again; WithTransaction commits for two minutes, and minPoolSize connects
	// without end.
	{text: "a storm of connections", of: func(p Plan) bool {
		return !p.Has("within") && !p.Has("minPoolSize") && (!p.faulty(func(f Fault) bool { return !establishes(f.On) }) ||
			!slices.ContainsFunc(p.Calls, p.Hurries))
	}, ofAll: func(a *application) bool { return a.result.Opened > 100 }},
	{text: "a command is of a transaction that has not been started there",
		of:    func(p Plan) bool { return p.Passes() && p.OnlyRejects() },
		ofAll: func(a *application) bool { return a.unstarted > 0 }},
	{text: "a retry goes to the router again that failed", of: func(p Plan) bool {
		always := !p.faulty(func(f Fault) bool { return f.Host == 0 || f.Times < 1000 }) // at some of several servers
		return always && !p.Peaceful() && !p.Has("retry") && !p.Has("max")
	},
		ofCall: func(p Plan, c *tally) bool { return c.attempts() > 1+len(p.Faults) || c.single() && !c.ok() }},
	// Connections that cannot be established allow for more attempts, too.
	{text: "more attempts than are allowed", of: func(p Plan) bool { return p.Batch == 0 && !p.faulty(Fault.disturbs) },
		ofCall: func(p Plan, c *tally) bool {
			if c.Failed == 0 { // a timeout does not lift this limit
				return c.single() && c.Overloads > 1+p.Limit()
			}
			tooMany := c.Overloads == 0 && c.Failed > 2 || c.Failed+c.Overloads > 1+max(1, p.Limit())
			return c.single() && !p.Hurries(c.Call) && tooMany
		}},
	{text: "a pool is cleared for an overload", of: func(p Plan) bool {
		return !p.Peaceful() && !p.faulty(func(f Fault) bool {
			refuses := f.Passing && (f.On == "hello" || f.On == "isMaster")
			return !refuses && (f.What != Reject || f.disturbs())
		})
	},
		ofAll: func(a *application) bool { return a.pools[event.ConnectionPoolCleared] > 0 }},
	{text: "a retry though the option is off", of: func(p Plan) bool { return p.Batch == 0 && !p.Has("adaptiveThrottling=true") },
		ofCall: func(p Plan, c *tally) bool {
			return c.Alone() && p.Off(c.Call) && (c.Retries > 0 || c.single() && c.Failed+c.Overloads > 1)
		}},
	// A call that tells of a write concern error has taken place, and must not be made again.
	{text: "a write that met a network error does not say so, and that it may be retried", ofCall: func(p Plan, c *tally) bool {
		text := strings.TrimSpace(fmt.Sprint(c.err))
		met := mongo.IsNetworkError(c.err) || strings.HasPrefix(text, "connection(127")
		says := mongo.IsNetworkError(c.err) && hasLabel(c.err, "RetryableWriteError")
		return c.single() && kinds[c.Kind].effect >= isRetryable && !p.Off(c.Call) && p.Topology != "standalone" &&
			met && !says && !strings.Contains(text, "write concern error")
	}},
	{text: "a backoff lasts until the deadline", of: Plan.OnlyRejects, ofCall: func(_ Plan, c *tally) bool {
		return c.single() && c.Overloads > 0 && c.Failed == 0 && !c.ok() && c.Deadline > 0 && c.End >= c.Start+c.Deadline
	}},
	{text: "a write took place of which the error says that it did not", of: func(p Plan) bool { return p.Batch == 0 },
		ofCall: func(_ Plan, c *tally) bool { return c.single() && c.Done > 0 && hasLabel(c.err, "NoWritesPerformed") }},
	{text: "a call succeeds whose last attempt was rejected",
		ofCall: func(_ Plan, c *tally) bool { return c.single() && c.ok() && c.Refused }},
	// Of calls that are several commands it is not known which commands are retries.
	{text: "tokens are minted", of: func(p Plan) bool { return p.Batch == 0 && p.OnlyRejects() }, ofAll: func(a *application) bool {
		return a.minted > 0.01 && !slices.ContainsFunc(a.tallies(), func(c *tally) bool { return !c.single() })
	}},
	{text: "closing a cursor keeps its caller waiting", of: func(p Plan) bool {
		return !p.faulty(func(f Fault) bool { return f.Code != 13 && (f.What != Reject || f.On != "killCursors") })
	}, ofCall: func(p Plan, c *tally) bool {
		return slices.Contains([]string{"find", "aggregate"}, c.Kind) && c.Way == "" && c.Overloads == 0 &&
			c.End-c.Start > 10*roundTrip
	}},
	{text: "a backoff is too long", of: Plan.backsOff,
		ofCall: func(_ Plan, c *tally) bool { return len(c.backoffs) > 0 && slices.Max(c.backoffs) > 1 }},
	// The first, and those that have a bound, may be right with a wrong exponent. All n are as short by chance once in longest^-n
	// plans.
	{text: "all backoffs are too short", of: Plan.backsOff, ofAll: func(a *application) bool {
		n, longest := 0, 0.0
		for _, c := range a.tallies() {
			for i, part := range c.backoffs {
				if i > 0 && i < 7 && (c.single() || c.Overloads == 0) {
					n, longest = n+1, max(longest, part)
				}
			}
		}
		return math.Pow(longest, float64(n)) < 1e-7
	}},
}

// backsOff reports whether nothing but backoffs comes between the attempts of a call.
func (p Plan) backsOff() bool {
	return p.Steady() && p.Batch == 0 && !p.Has("adaptiveThrottling=true") &&
		!p.faulty(func(f Fault) bool { return establishes(f.On) || f.What != Reject && f.Code != 112 })
}

// transactionEnd is how long the end of a transaction may take with its backoffs, and with what goes wrong with the network.
const transactionEnd = 10 * time.Second

// outlives is whether a call of one command outlives its deadline by more than a few round trips; WithTransaction may take more, to end
// its transaction, and with a Timeout has that anew.
func outlives(p Plan, c *tally) bool {
	if c.Deadline+c.Cancel == 0 {
		return false
	}
	late := c.End - (c.Start + c.Deadline + c.Cancel)
	return c.single() && late > 2*roundTrip || c.Way == "within" && !p.Has("timeoutMS") && late > transactionEnd
}

func (c *tally) ok() bool { return c.err == nil }

// attempts returns the most of one command.
func (c *tally) attempts() (most int) {
	for _, n := range c.sent {
		most = max(most, n)
	}
	return most
}

// single reports whether the call is one command. A document that is there twice needs a second batch.
func (c *tally) single() bool {
	return len(c.commands()) == 1 && c.Alone() && !mongo.IsDuplicateKeyError(c.err)
}
