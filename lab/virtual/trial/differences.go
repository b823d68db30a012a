package trial

import (
	"regexp"
	"slices"
	"strings"
)

// Difference is one between upstream and the fork that is wanted without overload errors.
type Difference struct {
	// Row is the subject of the row of docs/differences.md that has the reason.
	Row string
	// Option restricts it to plans with the option.
	Option string
	// Hide matches what traces leave out, because it is always there; with First, only the first such line.
	Hide  *regexp.Regexp
	First bool
	// Upstream and Fork match the lines that only one trace has at an instant, of which upstream has to have one. Needs matches one of the
	// fork's, if it is given.
	Upstream, Fork, Needs *regexp.Regexp
	// Either matches one such line of either trace; the others follow from it.
	Either *regexp.Regexp
	// Last is whether everything after the instant follows from it.
	Last bool
}

// Differences are all of them.
var Differences = []Difference{
	{Row: "a new pool", First: true, Hide: regexp.MustCompile(`^pool \S+ ConnectionPoolReady .*`)},
	{Row: "a new pool", First: true, Hide: regexp.MustCompile(`^log "Connection pool ready".*`)},
	{Row: "a new pool", Option: "minPoolSize", Either: regexp.MustCompile(`^ +0\.000 .*ConnectionCreated`), Last: true},
	{Row: "a new pool", Either: regexp.MustCompile(`^ +\d\.\d+ .*ConnectionPoolCleared`), Last: true}, // by the first heartbeat
	{Row: "handshake", Hide: regexp.MustCompile(`, backpressure: (true|"2")`)},
	{
		Row:  "name of the operation in lines about server selection, before the command is built",
		Hide: regexp.MustCompile(`\boperation: (create|ping|aggregate)?, `),
	},
	{Row: "log lines", Hide: regexp.MustCompile(`^log "(Starting topology monitoring|The program requires a newer driver|Command retr(y|ies) ).*`)},
	{
		Row:      "the deadline passes, or the context is cancelled, before a retry is sent",
		Upstream: regexp.MustCompile(`call \d+ \w+ (error|is|detail)|pool \S+ ConnectionCheckOut(Started|Failed timeout)`),
		Fork:     regexp.MustCompile(`call \d+ \w+ (error .*: no time for a retry: |is )|pool \S+ ConnectionCheckOut(Started|Failed timeout)`),
		Needs:    regexp.MustCompile(`: no time for a retry: `),
	},
	{
		Row:      "an interrupted write of many documents",
		Upstream: regexp.MustCompile(`call \d+ (insertMany|bulkWrite|clientBulkWrite) (error|is|detail|returns)`),
		Fork:     regexp.MustCompile(`call \d+ (insertMany|bulkWrite|clientBulkWrite) (error mongo\.interruptedWrite|is|detail|returns)`),
		Needs:    regexp.MustCompile(`error mongo\.interruptedWrite`),
	},
	{
		Row: "change streams, `retryReads=false` under a timeout", Option: "retryReads=false",
		Either: regexp.MustCompile(`event started aggregate of call \d+ watch|call \d+ watch error`), Last: true,
	},
	{Row: "network error while a connection is established", Either: regexp.MustCompile(`ConnectionCheckOutFailed connectionError .*during connection handshake`), Last: true},
	{Row: "`WithTransaction`, between transactions", Either: regexp.MustCompile(`event started insert of call \d+ withTransaction`), Last: true},
	{
		Row:    "`WithTransaction`, context with a deadline",
		Either: regexp.MustCompile(`call \d+ withTransaction error .*(calculated server-side timeout|context deadline exceeded)`), Last: true,
	},
	{
		Row:      "retried abortTransaction",
		Upstream: regexp.MustCompile(`event started abortTransaction|Waiting for suitable server .*abortTransaction`),
		Fork:     regexp.MustCompile(`(pool|log) .*(Connection|abortTransaction)`), Last: true,
	},
	{
		Row: "`retryWrites=false`, client bulk write in an explicit session", Option: "retryWrites=false",
		Upstream: regexp.MustCompile(`sees .* txnNumber: .*autocommit: false`), Fork: regexp.MustCompile(`sees .* txnNumber: .*autocommit: false`),
	},
	{
		Row:      "write concern error of a batch, none in the next",
		Upstream: regexp.MustCompile(`call \d+ bulkWrite returns .*no error`), Fork: regexp.MustCompile(`call \d+ bulkWrite (returns|error|detail|is) .*`),
	},
}

// Reason returns the difference that explains why only upstream has the former lines of an instant, and only the fork the latter,
// or nil.
func Reason(plan Plan, upstream, fork []string) *Difference {
	i := slices.IndexFunc(Differences, func(d Difference) bool {
		matches := func(lines []string, pattern *regexp.Regexp) bool {
			return !slices.ContainsFunc(lines, func(line string) bool { return !pattern.MatchString(line) && !wraps(line, upstream) })
		}
		switch {
		case d.Option != "" && !plan.Has(d.Option):
			return false
		case d.Either != nil:
			return slices.ContainsFunc(slices.Concat(upstream, fork), d.Either.MatchString)
		case d.Upstream != nil && len(upstream) > 0:
			return matches(upstream, d.Upstream) && matches(fork, d.Fork) && (d.Needs == nil || slices.ContainsFunc(fork, d.Needs.MatchString))
		}
		return false
	})
	if i < 0 {
		return nil
	}
	return &Differences[i]
}

// wraps reports whether a line has the details of an error of which upstream has the same, or fewer.
func wraps(line string, upstream []string) bool {
	call, details, ok := strings.Cut(line, " detail")
	return ok && slices.ContainsFunc(upstream, func(other string) bool {
		return strings.HasPrefix(other, call+" detail") && strings.Contains(details, strings.TrimPrefix(other, call+" detail"))
	})
}
