package trial

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"mongofork/lab/virtual"
)

// recorder records what happens as lines, without what differs from run to run, and counts.
type recorder struct {
	start  time.Time
	chance *Chance
	keep   bool
	// ordered is whether calls follow each other, so that it is not by chance which one gets which session.
	ordered bool
	// react is called for each event of a command.
	react  func(ctx context.Context, event string)
	yields int

	mu         sync.Mutex
	result     Trace // but for what follows
	calls      map[int]*tally
	current    map[int]int               // each worker's call
	requests   map[int64]int             // calls, by the numbers of their messages
	numbers    map[string]map[string]int // of sessions, by their lsid, and of a session's transactions
	handshakes map[string]bool           // what servers see when connections are established
	tokens     float64                   // at most, by the attempts that were sent
	leaving    bool                      // whether the client disconnects
	pending    map[int64]int             // events of commands by their number: those that start, less those that end
	pools      map[string]int            // their events, by type
}

// tally is what a call comes to, by its commands.
type tally struct {
	sent        map[string]int // by name
	last, again string         // the last command, and the rejected one that the next has to be if it has its name
	overloads   int            // errors
	others      int            // failures, but for code 391
	refused     bool           // the last command was rejected
	written     []int          // documents
	returned    time.Duration  // when it returned, but for its session's end
}

func newRecorder(keep, ordered bool) *recorder {
	return &recorder{start: time.Now(), keep: keep, ordered: ordered, calls: map[int]*tally{}, current: map[int]int{},
		requests: map[int64]int{}, numbers: map[string]map[string]int{}, handshakes: map[string]bool{},
		tokens: tokensAtMost, pending: map[int64]int{}, pools: map[string]int{}}
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
		r.calls[call] = &tally{sent: map[string]int{}}
	}
	return r.calls[call]
}

// masks hide what differs from run to run, numbers of connections, ports of clients, and round trip times; and what always differs: row
// "handshake" of docs/differences.md.
var masks = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`:(\d+)\[-?\d+\]`), ":$1[#]"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+->`), "client->"},
	{regexp.MustCompile(`Average RTT: \d+`), "Average RTT"},
	{regexp.MustCompile(`0x[0-9a-f]+`), "0x"},
	{regexp.MustCompile(`, backpressure: (true|"2")`), ""},
}

// masked returns a text as it is recorded.
func masked(text string) string {
	for _, mask := range masks {
		text = mask.what.ReplaceAllString(text, mask.with)
	}
	return text
}

// line records a line of a call, or of none.
func (r *recorder) line(call int, format string, args ...any) {
	text := masked(fmt.Sprintf(format, args...))
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.now()
	if r.leaving {
		if strings.HasPrefix(text, "topology") {
			return // whether the monitors meet one more check is by chance
		}
		at = at.Truncate(100 * time.Millisecond)
	}
	r.result.Lines = append(r.result.Lines, Line{at.Truncate(time.Microsecond), call, text})
}

// ended records how a call ended.
func (r *recorder) ended(id int, result any, err error) {
	outcome := "no error"
	if err != nil {
		outcome = "an error"
		r.line(id, "error %T %q", err, err)
		r.line(id, "is %s", properties(err))
		r.line(id, "detail%s", details(err))
	}
	if raw, ok := result.(bson.Raw); ok {
		result = raw.String()
	}
	r.line(id, "returns %+v, %s", result, outcome)
}

// volatile are fields of commands that differ from run to run, or in the name of the driver.
var volatile = []string{"client", "topologyVersion", "payload", "speculativeAuthenticate"}

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
		case e.Key() == "endSessions":
			ended, _ := e.Value().Array().Values()
			fields = append(fields, fmt.Sprintf("endSessions: %d", len(ended)))
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
	text := strings.Join(fields, ", ")
	_, isFirst := c.Body.LookupErr("client")
	if _, err := c.Body.LookupErr("backpressure"); err != nil && isFirst == nil {
		r.note(func() { r.result.Unannounced++ })
	}
	if establishes(c.Name) { // when, and at which servers, is for the calls that wait for it
		r.note(func() { r.handshakes[masked("handshake "+re(maxTime).ReplaceAllString(text, ""))] = true })
		return
	}
	var call int
	r.note(func() {
		call = r.requests[int64(c.Request)]
		if call > 0 && call < monitors {
			r.sentAgain(r.of(call), c.Name, text)
		}
	})
	host := c.Host
	if c.Name == "endSessions" {
		host = "a server" // none is better than another
	}
	r.line(call, "%s sees %s", host, text)
}

// passing is what a command may have otherwise when it is sent again, or for the first time in the next transaction.
const passing = maxTime + `|(, txnNumber: \d+)?, startTransaction: true|, \$clusterTime: \{[^}]*\}+|,?"afterClusterTime": \{[^}]*\}\}`

// sentAgain counts a command that has to be the rejected one, and is not. The recorder is locked.
func (r *recorder) sentAgain(c *tally, name, text string) {
	text = re(passing).ReplaceAllString(text, "")
	if strings.HasPrefix(c.again, name+":") && c.again != text {
		r.result.Changed++
	}
	c.last, c.again = text, ""
}

func abs(n int) int { return max(n, -n) }

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

// trace returns the lines in the order of their times; what happens in the same instant is sorted.
func (r *recorder) trace() Trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.result
	slices.SortFunc(t.Lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.At, b.At), a.Call-b.Call, strings.Compare(a.Text, b.Text))
	})
	compared := slices.DeleteFunc(slices.Clone(t.Lines), Line.Aside)
	t.Digest = fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, compared)))
	had, asked := r.pools[event.ConnectionCheckedOut], r.pools[event.ConnectionCheckOutStarted]-r.pools[event.ConnectionCheckOutFailed]
	t.Held, t.Cleared = abs(had-r.pools[event.ConnectionCheckedIn])+abs(asked-had), r.pools[event.ConnectionPoolCleared]
	for _, n := range r.pending {
		t.Unpaired += abs(n)
	}
	slices.SortFunc(t.Outcomes, func(x, y Outcome) int { return x.ID - y.ID })
	for i := range t.Outcomes {
		o := &t.Outcomes[i]
		c := r.of(o.ID)
		o.Refused, o.Overloaded, o.written = c.refused, c.overloads > 0 && c.others == 0, c.written
		for _, n := range c.sent {
			o.Attempts = max(o.Attempts, n)
		}
	}
	if !r.keep {
		t.Lines = nil
	}
	return t
}
