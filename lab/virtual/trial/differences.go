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
	// If restricts it to plans with this option, or with a call of this kind.
	If string
	// Hide matches what traces leave out, because it is always there; with First, only the first such line.
	Hide  *regexp.Regexp
	First bool
	// Upstream and Fork match the lines that only one trace has at an instant. Beside matches a line of the instant in either trace.
	Upstream, Fork, Beside *regexp.Regexp
	// But matches the part of the lines in which they differ; the rest is the same.
	But *regexp.Regexp
	// Either matches one line that only one trace has; the others follow from it.
	Either *regexp.Regexp
	// Last is whether everything after the instant follows from it.
	Last bool
}

var (
	re       = regexp.MustCompile
	no       = re(`^$`)
	checkout = `(pool|log) .*(Connection|Server selection|Waiting for suitable server)`
)

// Differences are all of them.
var Differences = []Difference{
	{Row: "a new pool", First: true, Hide: re(`^pool \S+ ConnectionPoolReady .*`)},
	{Row: "a new pool", First: true, Hide: re(`^log "Connection pool ready".*`)},
	{Row: "a new pool", If: "minPoolSize", Either: re(`^ +0\.000 .*ConnectionCreated`), Last: true},
	{Row: "a new pool", Either: re(`^ +\d\.\d+ .*ConnectionPoolCleared`), Last: true}, // by the first heartbeat
	{Row: "handshake", Hide: re(`, backpressure: (true|"2")`)},
	{
		Row:  "name of the operation in lines about server selection, before the command is built",
		Hide: re(`\boperation: (create|ping|aggregate)?, `),
	},
	{Row: "log lines", Hide: re(`^log "(Starting topology monitoring|The program requires a newer driver|Command retr(y|ies) ).*`)},
	{
		Row: "the deadline passes, or the context is cancelled, before a retry is sent", Beside: re(`: no time for a retry: `),
		Upstream: re(`call \d+ \w+ (error|is|detail)|` + checkout), Fork: re(`call \d+ \w+ (error|is)|` + checkout),
	},
	{ // upstream's retries are lost with their result
		Row: "an interrupted write of many documents", If: "bulkWrite", Beside: re(`call \d+ bulkWrite error .*: no time for a retry: `),
		Upstream: re(`call \d+ bulkWrite (error|is|detail|returns .*Acknowledged:false)`),
		Fork:     re(`call \d+ bulkWrite (error|is|detail|returns .*Acknowledged:true)`),
	},
	{ // upstream's indexes are then those of the batch
		Row: "an interrupted write of many documents", If: "insertMany", Beside: re(`call \d+ insertMany error .*: no time for a retry: `),
		Upstream: re(`call \d+ insertMany (error|is|detail bulk|returns)`), Fork: re(`call \d+ insertMany (error|is|detail bulk|returns)`),
	},
	{ // by chance, a connection that a retry asked for when its time was up
		Row: "the deadline passes, or the context is cancelled, before a retry is sent", If: "timeoutMS", Either: re(`server \S+ sees hello|ConnectionCreated`), Last: true,
	},
	{
		Row: "the deadline passes, or the context is cancelled, before a retry is sent", If: "watch",
		Upstream: re(`call \d+ watch (error|is|detail)|event (started aggregate of|failed aggregate after 0s: .*context (canceled|deadline))|` + checkout), Fork: re(`call \d+ watch (error .*(deadline exceeded|canceled)|is|detail)`), Last: true,
	},
	{
		Row: "no server or connection for a retry", If: "watch", Beside: re(`call \d+ watch error topology\.ServerSelectionError`),
		Upstream: re(`call \d+ watch (error|is|detail)`), Fork: re(`call \d+ watch (error mongo\.CommandError|is|detail command)`),
	},
	{
		Row: "change streams, `retryReads=false` under a timeout", If: "retryReads=false",
		Either: re(`event started aggregate of call \d+ watch|call \d+ watch error`), Last: true,
	},
	{Row: "network error while a connection is established", Either: re(`Connection(CheckOutFailed connectionE|Closed e)rror .*during connection handshake`), Last: true},
	{ // of two calls that fail at one instant, one clears the pool before or after the other asks for a connection
		Row: "pool cleared before the command asked for a connection", Beside: re(`ConnectionPoolCleared`),
		Upstream: re(`event started|` + checkout), Fork: re(`event started|` + checkout), Last: true,
	},
	{Row: "pool cleared before the command asked for a connection", Either: re(`error topology\.poolClearedError`), Last: true},
	{Row: "`WithTransaction`, between transactions", If: "withTransaction", Either: re(`event started insert of call|no time to try the transaction again: `), Last: true},
	{Row: "`WithTransaction`, between transactions", If: "withTransaction", Upstream: re(checkout), Fork: no, Last: true},
	{ // the operation that a server sees at one time begins at another
		Row: "`WithTransaction`, between transactions", If: "withTransaction",
		Upstream: re(`server \S+ sees .* startTransaction: true`), Fork: re(`server \S+ sees .* startTransaction: true`), But: re(`maxTimeMS: \{"\$numberLong":"\d+"\}`),
	},
	{
		Row: "commit and abort by `WithTransaction`", If: "timeoutMS",
		Upstream: re(`server \S+ sees (commit|abort)Transaction: `), Fork: re(`server \S+ sees (commit|abort)Transaction: .*maxTimeMS: `),
		But: re(`, maxTimeMS: \{"\$numberLong":"\d+"\}`),
	},
	{ // the newest upstream
		Row: "`WithTransaction`, time is up after another error", If: "withTransaction", Beside: re(`call \d+ withTransaction error mongo\.timeoutError `),
		Upstream: re(`call \d+ withTransaction (error mongo\.timeoutError|is timeout)`), Fork: re(`call \d+ withTransaction (error|is)`),
		But: re(`error \S+ "(operation timed out: )?|is (timeout(, )?)?`),
	},
	{
		Row:    "`WithTransaction`, context with a deadline",
		Either: re(`call \d+ withTransaction error .*(calculated server-side timeout|context deadline exceeded)`), Last: true,
	},
	{ // the application commits again
		Row:      "a commit of unknown result, for whatever reason",
		Upstream: re(`server \S+ sees commitTransaction`), Fork: re(`server \S+ sees commitTransaction: .* writeConcern: \{"w": "majority"\}`),
		But: re(` writeConcern: \{"w": "majority"\},`),
	},
	{
		Row: "a commit's result is unknown", Beside: re(`event (failed|succeeded) commitTransaction`),
		Upstream: re(`event started commitTransaction|server \S+ sees commitTransaction|log .*(commitTransaction|Connection)`), Fork: re(checkout), Last: true,
	},
	{
		Row: "that error of a commit; a commit that finds no server", If: "withTransaction",
		Upstream: re(`call \d+ withTransaction (error|is|detail|returns)|` + checkout), Fork: re(`event started commitTransaction|` + checkout), Last: true,
	},
	{
		Row: "that error of a commit; a commit that finds no server", If: "transaction", Beside: re(`call \d+ transaction is .*UnknownTransactionCommitResult`),
		Upstream: re(`call \d+ transaction (error|is|detail)`), Fork: re(`call \d+ transaction (error|is|detail)`), Last: true,
	},
	{
		Row:      "write without a connection, `retryWrites` on",
		Upstream: re(`call \d+ \w+ is `), Fork: re(`call \d+ \w+ is .*RetryableWriteError`),
	},
	{
		Row: "retried abortTransaction", Beside: re(`event (failed|started) abortTransaction|log .*abortTransaction`),
		Upstream: re(`event started abortTransaction|log .*(abortTransaction|Connection)`), Fork: re(checkout + `|(log|event started) .*abortTransaction`), Last: true,
	},
	{
		Row: "`retryWrites=false`, client bulk write in an explicit session", If: "retryWrites=false",
		Upstream: re(`sees .* txnNumber: .*autocommit: false|no transaction \d+ is in progress`),
		Fork:     re(`sees .* txnNumber: .*autocommit: false|no transaction \d+ is in progress`),
	},
	{ // upstream's getMore does without a connection of its own, or needs a second one
		Row:      "client bulk write, reading its results with getMore",
		Beside:   re(`event (succeeded bulkWrite|started (bulkWrite|getMore) of call \d+ clientBulkWrite)`),
		Upstream: re(checkout + `|event started (bulkWrite|getMore) of call \d+ clientBulkWrite|log "Command started" commandName: (bulkWrite|getMore)`),
		Fork:     re(checkout + `|event started (bulkWrite|getMore) of call \d+ clientBulkWrite|log "Command started" commandName: (bulkWrite|getMore)`), Last: true,
	},
	{ // and returns its connection when the command's monitor has returned
		Row: "client bulk write, reading its results with getMore", If: "clientBulkWriteMany",
		Upstream: no, Fork: re(`^ *\S+ (pool \S+ ConnectionCheckedIn|log "Connection checked in")`), Last: true,
	},
	{ // behind a load balancer
		Row:      "client bulk write, reading its results with getMore",
		Beside:   re(`call \d+ clientBulkWrite\w* error .*an inserted document is too large`),
		Upstream: re(`call \d+ clientBulkWrite\w* (error|is|detail|returns)`),
		Fork:     re(`event started bulkWrite of call \d+ clientBulkWrite|` + checkout), Last: true,
	},
	{ // upstream's is still under way when the fork's application commits again
		Row: "`WithTransaction`, client-level timeout without a deadline", If: "timeoutMS",
		Upstream: re(`server \S+ sees commitTransaction: .*"w": "majority","wtimeout"`),
		Fork:     re(`server \S+ sees commitTransaction: .*writeConcern: \{"w": "majority"\}.* maxTimeMS: `), Last: true,
	},
	{
		Row: "write concern error of a batch, none in the next", Beside: re(`call \d+ bulkWrite returns .*no error`),
		Upstream: re(`call \d+ bulkWrite returns`), Fork: re(`call \d+ bulkWrite (returns|error|detail|is)`),
	},
}

// Reason returns the difference that explains why only upstream has the former of the lines of an instant, and only the fork the
// latter, or nil.
func Reason(plan Plan, upstream, fork, all []string) *Difference {
	i := slices.IndexFunc(Differences, func(d Difference) bool {
		matches := func(lines []string, pattern *regexp.Regexp) bool {
			return !slices.ContainsFunc(lines, func(line string) bool { return !pattern.MatchString(line) && !wraps(line, upstream) })
		}
		switch {
		case d.If != "" && !plan.Has(d.If):
			return false
		case d.Either != nil:
			return slices.ContainsFunc(slices.Concat(upstream, fork), d.Either.MatchString)
		case d.Upstream == nil:
			return false
		case d.But != nil && !slices.Equal(replaced(d.But, upstream), replaced(d.But, fork)):
			return false
		case d.Beside != nil && !slices.ContainsFunc(all, d.Beside.MatchString):
			return false
		}
		return matches(upstream, d.Upstream) && matches(fork, d.Fork)
	})
	if i < 0 {
		return nil
	}
	return &Differences[i]
}

// replaced returns lines without what the pattern matches.
func replaced(pattern *regexp.Regexp, lines []string) (rest []string) {
	for _, line := range lines {
		rest = append(rest, pattern.ReplaceAllString(line, ""))
	}
	slices.Sort(rest)
	return rest
}

// wraps reports whether a line has the details of an error of which upstream has the same, or fewer.
func wraps(line string, upstream []string) bool {
	call, details, ok := strings.Cut(line, " detail")
	return ok && slices.ContainsFunc(upstream, func(other string) bool {
		return strings.HasPrefix(other, call+" detail") && strings.Contains(details, strings.TrimPrefix(other, call+" detail"))
	})
}
