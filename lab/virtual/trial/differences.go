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
	// Hide matches what traces leave out, because it is always there.
	Hide *regexp.Regexp
	// Fits reports whether it is all that is different at an instant.
	Fits func(Instant) bool
	// Apart is whether the drivers go on differently with the call.
	Apart bool
}

var re = regexp.MustCompile

const (
	// tried is what an attempt that sends no command shows.
	tried = `(pool \S+: ConnectionCheckOut(Started|Failed)|` +
		`log "(Connection checkout (started|failed)|Server selection (started|succeeded|failed)|` +
		`Waiting for suitable server to become available)")`
	// wentOn is what an attempt shows before it sends a command.
	wentOn = `(` + tried + `|pool \S+: Connection(CheckedOut|CheckedIn|Created)|log "Connection (checked (in|out)|created)")`
	// beginsAgain is what a transaction shows that begins again, also without time.
	beginsAgain = wentOn + `|event started (insert|abortTransaction) of call \d+ withTransaction|` +
		`server \S+ sees insert: .*startTransaction: true|log "Command started"|event started count of call \d+ monitor|` +
		`pool \S+: ConnectionClosed idle|log "Connection closed" reason: Connection has been available but unused|` +
		`(event failed insert after 0s|log "Command failed" commandName: insert).* context (canceled|deadline exceeded)`
	// unsent are the errors of such attempts: the pool was cleared, no server was found, no connection was established.
	unsent = ` ?\S+ " ?(connection pool for \S+ was cleared because another operation failed|server selection error: |` +
		`connection\(\S*\) [^"(]*during connection handshake|[^"(]*checking out a connection)`
	// writeConcern is that of a commit or an abort.
	writeConcern = `, writeConcern: \{("w": ("majority"|\{[^}]*\})|,|"wtimeout": \{[^}]*\})*\}`
	// clears is what upstream does, and the fork not, when a connection is not established.
	clears = `|pool \S+: Connection(PoolCleared|Closed)|log "(Connection pool cleared|Connection closed|Command started)"|` +
		`server \S+: \w+ to Unknown|topology: `
)

// Differences are all of them.
var Differences = []Difference{
	{Row: "handshake", Hide: re(`, backpressure: (true|"2")`)},
	{
		Row:  "name of the operation in lines about server selection, before the command is built",
		Hide: re(`\boperation: (create|ping|aggregate)?, `),
	},
	{
		Row:   "option: the server closes the connection of a heartbeat before it is established",
		Apart: true, Fits: func(i Instant) bool {
			const started = `heartbeat \S+ started, awaited false`
			return i.Plan.Has("adaptiveThrottling=true") && i.are(started, started) && len(i.Upstream)+len(i.Fork) == 1 &&
				some(i.Before, `heartbeat \S+ failed after \S+, awaited false: .*\b(reset by peer|EOF)`)
		},
	},
	{Row: "log lines", Hide: re(`^log "(Starting topology monitoring|The program requires a newer driver|Command retr(y|ies) ).*`)},
	{Row: "a new pool", Apart: true, Fits: func(i Instant) bool { // minPoolSize connects to an unknown server
		return i.At == 0 && i.Plan.Has("minPoolSize") && i.are(`pool \S+: ConnectionCreated|log "Connection created"`, ``)
	}},
	{Row: "the deadline passes, or the context is cancelled, before a retry is sent", Fits: func(i Instant) bool {
		e := i.ended()
		return e.both("") && e.interrupted() && e.adds(expired...) && e.sameResult() && e.rest(tried, tried)
	}},
	{ // upstream asked for a connection without time, and sometimes gets one
		Row: "the deadline passes, or the context is cancelled, before a retry is sent", Apart: true, Fits: func(i Instant) bool {
			e := i.ended()
			return e.both("") && e.interrupted() && e.adds(expired...) && e.sameResult() && e.rest(wentOn, tried) &&
				some(e.restUp, `ConnectionCreated`)
		},
	},
	{ // upstream's retries are lost with their result
		Row: "an interrupted write of many documents", Fits: func(i Instant) bool {
			e := i.ended()
			return e.both("bulkWrite") && strings.Contains(e.fork["error"], noTime) && e.fork.isOne(expired...) &&
				e.rest(tried, tried) && e.up.matches("returns", `Acknowledged:false`) &&
				e.fork.matches("returns", `Acknowledged:true`)
		},
	},
	{ // the fork's error keeps the label of the attempt before
		Row: "an interrupted write of many documents", Fits: func(i Instant) bool {
			e := i.ended()
			return e.both("bulkWrite") && e.interrupted() && e.adds(append(expired, "RetryableWriteError")...) &&
				e.sameResult() &&
				e.rest(tried, tried)
		},
	},
	{ // upstream's indexes are then those of the batch
		Row: "an interrupted write of many documents", Fits: func(i Instant) bool {
			e := i.ended()
			batches := e.both("insertMany") || e.both("bulkWrite") && i.Plan.Batch > 0
			return batches && e.interrupted() && e.adds(expired...) && e.rest(tried, tried)
		},
	},
	{ // upstream has an error of another package
		Row: "an interrupted write of many documents", Fits: func(i Instant) bool {
			e := i.ended()
			return e.both("") && strings.HasPrefix(e.kind(), "clientBulkWrite") &&
				e.up.matches("error", `^ driver\.WriteCommandError "write command error: \[\{write errors: \[\]\}, \{`) &&
				e.fork.matches("error",
					`^ backpressure\.Interruption "bulk write exception: write concern errors: \[.*\]: no time for a retry: `) &&
				e.fork.isOne(expired...) && e.sameResult() && e.rest(tried, tried)
		},
	},
	{ // upstream starts a command without time, and has its error, and sometimes one more connection
		Row: "the deadline passes, or the context is cancelled, before a retry is sent", Apart: true, Fits: func(i Instant) bool {
			e := i.ended()
			return e.both("watch") && e.up.isOne(expired...) && e.fork.isOne(expired...) && e.sameResult() &&
				e.rest(wentOn+`|event started aggregate of call \d+ watch|`+
					`(event|log) .*failed.*aggregate.*context (canceled|deadline exceeded)|log "Command started"`,
					tried)
		},
	},
	{Row: "no server or connection for a retry", Fits: func(i Instant) bool {
		e := i.ended()
		return e.both("watch") && e.up.matches("error", `^ topology\.ServerSelectionError`) &&
			e.fork.matches("error", `^ mongo\.CommandError`) &&
			e.fork.matches("detail", `command`) && e.sameResult() && e.rest(tried, tried)
	}},
	{Row: "change streams, `retryReads=false` under a timeout", Apart: true, Fits: func(i Instant) bool {
		e := i.ended()
		return i.Plan.Has("retryReads=false") && i.Plan.deadline(e.call) && e.onlyFork("watch") &&
			e.fork["error"] != "" && e.rest(wentOn+`|event started aggregate of call \d+ watch`, ``)
	}},
	{ // upstream avoids the last router only, and so takes turns
		Row: "deprioritized servers", Apart: true, Fits: func(i Instant) bool {
			const picks = wentOn + `|event started \w+ of call|log "Command started"`
			failures := strings.Count(strings.Join(i.Before, "\n"), " event failed ")
			return i.Plan.Topology == "sharded:2" && failures > 2 && i.are(picks, picks) &&
				some(i.Upstream, `CheckOutStarted`) && some(i.Fork, `CheckOutStarted`)
		},
	},
	{ // both fail to establish a connection; only the fork labels it, and goes on
		Row: "network error while a connection is established", Apart: true, Fits: func(i Instant) bool {
			const failed = `Connection(CheckOutFailed connectionE|Closed e)rror .*during connection handshake`
			e := i.ended()
			return some(i.Upstream, failed) && some(i.Fork, failed+`.*SystemOverloadedError, RetryableError`) &&
				e.one() && (e.call == "" || e.up["error"] == "" && e.adds("SystemOverloadedError", "RetryableError") ||
				e.up.matches("error", `during connection handshake| incomplete read of message header`) &&
					(len(e.fork) == 0 || e.fork.matches("error", `during connection handshake`))) &&
				e.rest(wentOn+clears+`|`+failed, tried+`|`+failed)
		},
	},
	{ // the newest upstream labels it whatever its own labels are
		Row: "labels for a refused hello", Apart: true, Fits: func(i Instant) bool {
			const failed = `(pool \S+: Connection(CheckOutFailed connectionE|Closed e)rror|log "Connection (checkout failed|closed)") ` +
				`.*during connection handshake: \(InterruptedDueToOverload\)`
			e := i.ended()
			return e.one() && some(e.restUp, failed+`.* network, SystemOverloadedError, RetryableError$`) &&
				e.rest(failed, failed) &&
				some(e.restFork, failed+`.* SystemOverloadedError$`) && e.up["error"] == e.fork["error"] &&
				(e.call == "" || e.fork.matches("detail", `^ command 473 `))
		},
	},
	{ // the newest upstream labels it, too, and returns it
		Row: "errors of establishing a connection", Apart: true, Fits: func(i Instant) bool {
			e := i.ended()
			const overload = `SystemOverloadedError, RetryableError`
			retry := some(i.All, `CheckOutFailed .*during connection handshake.* `+overload+`$`) // then it returns the error before
			return e.one() && e.up["error"] != "" &&
				(retry || e.up.matches("error", `during connection handshake`) && e.up.isOne(overload)) &&
				len(e.fork) == 0 && e.rest(wentOn, wentOn)
		},
	},
	{
		Row: "that error, or one while a connection is established, in a transaction", Fits: func(i Instant) bool {
			e := i.ended()
			return e.both("") && strings.HasSuffix(strings.ToLower(e.kind()), "transaction") &&
				e.adds("TransientTransactionError") && e.sameText() &&
				some(i.All, `call `+e.call+
					` error .*(was cleared because another operation failed|during connection handshake)`) &&
				e.sameResult() && e.rest(tried, tried)
		},
	},
	{Row: "pool cleared before the command asked for a connection", Apart: true, Fits: func(i Instant) bool {
		const cleared = ` was cleared because another operation failed with: `
		e := i.ended()
		retry := e.up["error"] != "" && some(i.All, `CheckOutFailed .*`+cleared) // then upstream returns the error before
		return e.one() && (retry || e.up.matches("error", `^ (topology\.poolClearedError|\*errors\.joinError) ".*`+cleared)) &&
			(len(e.fork) == 0 && some(i.ForkOn, `CheckOutStarted|Server selection started`) ||
				e.fork.matches("is", `TransientTransactionError|RetryableWriteError|`+expired[0]+`|`+expired[1])) &&
			e.rest(tried, wentOn)
	}},
	{ // upstream retries a command of a transaction that was in the wait queue
		Row: "pool cleared before the command asked for a connection", Apart: true, Fits: func(i Instant) bool {
			return some(i.Before, `CheckOutFailed .*poolClearedError`) && some(i.Upstream, `CheckOutStarted`) &&
				i.are(wentOn, wentOn) && i.bound(transacting...) &&
				i.later(i.UpstreamOn, `event started (insert|update) of call CALL`, transacting...) &&
				i.later(i.ForkOn, `event started abortTransaction of call CALL`, transacting...)
		},
	},
	{ // and so the command of a monitor, which has the transaction's session
		Row: "pool cleared before the command asked for a connection", Apart: true, Fits: func(i Instant) bool {
			e := i.ended()
			return e.onlyFork("monitor") && e.fork.matches("error", `^ mongo\.CommandError " ?connection pool for \S+ was cleared`) &&
				e.fork.matches("is", `^ TransientTransactionError$`) && e.rest(tried, ``) && i.under(transacting...) != "" &&
				some(i.UpstreamOn, `event started count of call `+e.call)
		},
	},
	{ // upstream begins at once
		Row: "`WithTransaction`, between transactions", Apart: true, Fits: func(i Instant) bool {
			const lost = `|event failed insert after 0s: .* network, TransientTransactionError$|heartbeat |server \S+: \w+ to Unknown|` +
				`topology: |pool \S+: Connection(Closed error|PoolCleared)|log ` // its connection was closed meanwhile
			e := i.ended()
			return i.running() && len(e.up) == 0 && (len(e.fork) == 0 || e.onlyFork("withTransaction") &&
				strings.Contains(e.fork["error"], ": no time to try the transaction again: ")) &&
				len(i.Upstream)+len(e.fork) > 0 && e.rest(beginsAgain+lost, ``) &&
				(len(e.fork) > 0 || i.later(i.ForkOn,
					`event started insert of call CALL|call CALL error`, "withTransaction"))
		},
	},
	{ // upstream waits, although nobody waits for it
		Row: "`WithTransaction`, between transactions", Apart: true, Fits: func(i Instant) bool {
			e := i.ended()
			return i.running() && e.onlyFork("withTransaction") && e.rest(beginsAgain, ``) &&
				strings.HasSuffix(e.fork["error"], `: interrupted before another attempt: context canceled"`) &&
				e.fork.isOne("TransientTransactionError") && i.endsEarly("withTransaction")
		},
	},
	{ // upstream begins again without time, and has its error
		Row: "`WithTransaction`, between transactions", Apart: true, Fits: func(i Instant) bool {
			e := i.ended()
			return e.both("withTransaction") && e.up.isOne(expired...) && e.fork.isOne(expired...) &&
				e.up["returns"] == e.fork["returns"] &&
				e.up.matches("error", `calculated server-side timeout|context (deadline exceeded|canceled)`) &&
				e.fork.matches("is", `TransientTransactionError`) && !e.up.matches("is", `TransientTransactionError`) &&
				e.rest(beginsAgain, ``)
		},
	},
	{ // the newest begins after another backoff
		Row: "`WithTransaction`, between transactions", Apart: true, Fits: func(i Instant) bool {
			return i.running() && len(i.Upstream) == 0 && i.are(``, beginsAgain) &&
				some(i.Fork, `event started insert of call \d+ withTransaction|CheckOutStarted`) &&
				i.later(i.UpstreamOn, `event started insert of call CALL|call CALL error`, "withTransaction")
		},
	},
	{ // the operation that a server sees at one time begins at another
		Row: "`WithTransaction`, between transactions", Fits: func(i Instant) bool {
			const begins = `server \S+ sees .* startTransaction: true`
			return i.running() && i.are(begins, begins) && i.but(`maxTimeMS: \{"\$numberLong":"\d+"\}`)
		},
	},
	{ // by another router: each driver draws numbers for its backoffs
		Row: "`WithTransaction`, between transactions", Apart: true, Fits: func(i Instant) bool {
			const router = `\d{5}\b`
			return i.running() && i.Plan.Topology == "sharded:2" && i.are(beginsAgain, beginsAgain) &&
				some(i.Fork, `CheckOutStarted`) && i.but(router)
		},
	},
	{ // or by about a microsecond
		Row: "`WithTransaction`, between transactions", Apart: true, Fits: func(i Instant) bool {
			return i.Plan.Has("withTransaction") && soon(i.Upstream, i.ForkOn) && soon(i.Fork, i.UpstreamOn)
		},
	},
	{ // only the fork's have the client's Timeout
		Row: "commit and abort by `WithTransaction`", Fits: func(i Instant) bool {
			const ends = `server \S+ sees (commit|abort)Transaction: `
			return i.Plan.timeout() > 0 && i.running() && i.are(ends, ends+`.*, maxTimeMS: `) &&
				!some(i.Upstream, `maxTimeMS`) && i.but(`, maxTimeMS: \{"\$numberLong":"\d+"\}`)
		},
	},
	{ // which lets the fork's be retried more than once
		Row: "commit and abort by `WithTransaction`", Apart: true, Fits: func(i Instant) bool {
			const retries = `|(log|event started) .*(abort|commit)Transaction`
			e := i.ended()
			return i.Plan.timeout() > 0 && i.running() && len(e.up) > 0 && len(e.fork) == 0 && e.up["error"] != "" &&
				some(i.All, `event failed (abort|commit)Transaction`) && e.rest(``, wentOn+retries)
		},
	},
	{ // and ends them
		Row: "commit and abort by `WithTransaction`", Apart: true, Fits: func(i Instant) bool {
			e := i.ended()
			const fails = `event failed (commit|abort)Transaction .* context deadline exceeded`
			return i.Plan.timeout() > 0 && i.At >= i.Plan.timeout() && i.running() && len(e.up) == 0 &&
				(e.onlyFork("withTransaction") || some(i.Fork, fails)) &&
				e.rest(``, wentOn+`|pool \S+: ConnectionClosed|log |`+fails) &&
				some(i.Before, `event started (commit|abort)Transaction`)
		},
	},
	{ // and so have the commands that their monitors run
		Row: "commit and abort by `WithTransaction`", Fits: func(i Instant) bool {
			const counts = `server \S+ sees count: .*, maxTimeMS: `
			return i.Plan.timeout() > 0 && i.Plan.Monitor.Asks > 0 && i.running() && i.are(counts, counts) &&
				i.but(`, maxTimeMS: \{"\$numberLong":"\d+"\}`)
		},
	},
	{ // which then end, too
		Row: "commit and abort by `WithTransaction`", Apart: true, Fits: func(i Instant) bool {
			e := i.ended()
			return i.Plan.timeout() > 0 && i.At >= i.Plan.timeout() && i.under("withTransaction") != "" && e.onlyFork("monitor") &&
				e.fork.isOne(expired[0]) && e.rest(``, wentOn+`|pool \S+: ConnectionClosed|log `)
		},
	},
	{ // which only the fork says
		Row: "`WithTransaction`, time is up after another error", Fits: func(i Instant) bool {
			e := i.ended()
			_, up, isTimeout := strings.Cut(strings.TrimSuffix(e.up["error"], `"`),
				` mongo.timeoutError "operation timed out: `)
			return isTimeout && e.both("withTransaction") && e.adds(expired...) && e.rest(``, ``) &&
				strings.HasPrefix(e.fork["error"], ` backpressure.Interruption "`+up+
					": no time to try the transaction again: ")
		},
	},
	{ // the newest upstream
		Row: "`WithTransaction`, time is up after another error", Fits: func(i Instant) bool {
			e := i.ended()
			return e.both("withTransaction") && e.up.matches("error", `^ mongo\.timeoutError "operation timed out: `) &&
				e.rest(``, ``) &&
				i.but(` error \S+ "(operation timed out: )?| is (timeout(, )?)?`)
		},
	},
	{Row: "`WithTransaction`, context with a deadline", Apart: true, Fits: func(i Instant) bool {
		e := i.ended()
		return e.onlyFork("withTransaction") && i.Plan.deadline(e.call) &&
			e.fork.matches("error", `calculated server-side timeout|context deadline exceeded`) && e.fork.isOne(expired[0]) &&
			e.rest(wentOn, ``)
	}},
	{ // upstream commits again at once
		Row: "a commit's result is unknown", Apart: true, Fits: func(i Instant) bool {
			return i.are(wentOn+`|event started commitTransaction|server \S+ sees commitTransaction|log .*commitTransaction`,
				wentOn+`|pool \S+: ConnectionClosed stale|log "Connection closed"`) &&
				some(i.Upstream, `commitTransaction`) && i.unknown() && i.bound(committing...) && i.later(i.ForkOn,
				`event started commitTransaction of call CALL|call CALL error.*(no time for a retry|`+unsent+`)`,
				committing...)
		},
	},
	{ // upstream commits again at once
		Row: "a commit of unknown result by `WithTransaction`", Apart: true, Fits: func(i Instant) bool {
			const sends = `event started commitTransaction of call`
			e := i.ended()
			return i.running() && e.rest(wentOn+`|log "Command started"|`+sends, ``) && len(e.up) == 0 &&
				(len(e.fork) == 0 || strings.Contains(e.fork["error"], ": no time to try the transaction again: ")) &&
				(i.unknown() || some(i.Before, `event failed commitTransaction`)) &&
				i.later(i.ForkOn, sends+` CALL|call CALL error`, "withTransaction")
		},
	},
	{ // upstream sends the third at once
		Row: "retries of commit and abort under a deadline or `Timeout`", Apart: true, Fits: func(i Instant) bool {
			const sends = `event started (commit|abort)Transaction of call`
			const fails = `^ *[\d.]* *(event failed abortTransaction|pool \S+: ConnectionPoolCleared|log) .*network, `
			return i.endsEarly(transacting...) && i.bound(transacting...) && // and with another label, if its commit was not sent
				i.are(wentOn+`|log "Command started"|`+sends+`|`+fails+`UnknownTransactionCommitResult$`, fails+`TransientTransactionError$`) &&
				some(slices.Concat(i.Before, i.All), `event failed (commit|abort)Transaction`) &&
				i.later(i.ForkOn, sends+` CALL|call CALL (error|returns)`, transacting...)
		},
	},
	{ // upstream aborts it, by EndSession or because the application says so
		Row: "a commit of unknown result that was sent", Apart: true, Fits: func(i Instant) bool {
			const unknown = `call \d+ (transaction|withTransaction|commitAgain) is timeout.*UnknownTransactionCommitResult`
			return some(i.All, unknown) && some(i.Fork, unknown+`|abortAgain error .*after calling commitTransaction`) &&
				some(i.Upstream, `ConnectionCheckOutStarted|event started abortTransaction`) && i.bound(committing...) &&
				some(i.UpstreamOn, `event started abortTransaction|CheckOutFailed`) &&
				i.are(wentOn+
					`|pool \S+: ConnectionClosed idle|event started abortTransaction|log "Command started" commandName: abortTransaction`,
					wentOn+
						`|call \d+ (\w+Transaction|transaction|commitAgain|abortAgain) (error|is|detail|returns <nil>, an error)`)
		},
	},
	{ // upstream returns it without a label if no server is found for the next commit, or later
		Row: "a commit of unknown result that was sent", Apart: true, Fits: func(i Instant) bool {
			const unknown, calls = `UnknownTransactionCommitResult`,
				`call \d+ (transaction|withTransaction|commitAgain|abortAgain) (error|is|detail|returns <nil>, an error)`
			const without = `call \d+ \w*ransaction error driver\.WriteCommandError "write command error: \[\{write errors: \[\]\}, `
			return i.Plan.failsConcern("commitTransaction") &&
				(some(i.Upstream, without) || len(i.Upstream) == 0 && some(i.Fork, unknown)) &&
				!some(i.Upstream, unknown) &&
				some(i.Fork, unknown) == some(i.Fork, `^ *[\d.]* *call`) && i.are(calls, wentOn+`|`+calls)
		},
	},
	{ // upstream's next commit has the old write concern
		Row: "a commit of unknown result that was sent", Fits: func(i Instant) bool {
			const commits = `server \S+ sees commitTransaction: `
			return i.are(commits, commits+`.*writeConcern: \{"w": "majority"`) && !some(i.Upstream, `"w": "majority"`) &&
				i.but(writeConcern)
		},
	},
	{ // which the command of a monitor, with the transaction's session, shows as well
		Row: "a commit of unknown result that was sent", Fits: func(i Instant) bool {
			const counts = `server \S+ sees count: `
			return i.Plan.Monitor.Asks > 0 && i.under(committing...) != "" && len(i.Fork) > 0 && i.are(counts, counts) &&
				i.but(`, readConcern: \{"afterClusterTime": \{"\$timestamp":\{[^}]*\}\}\}`)
		},
	},
	{ // the application commits again, by another router, which no connection is idle for
		Row: "a transaction finds no server; a commit's result is unknown", Apart: true, Fits: func(i Instant) bool {
			const goes = wentOn + `|pool \S+: ConnectionClosed (idle|stale)|log "Connection closed"`
			return i.Plan.commitsAgain() && i.Plan.Topology == "sharded:2" &&
				i.are(goes+`|event started commitTransaction of call`, goes) &&
				some(i.Upstream, `CheckOutStarted`) && some(i.Fork, `CheckOutStarted`) && i.bound(committing...) &&
				i.later(i.ForkOn, `event started commitTransaction of call CALL|call CALL error`, committing...)
		},
	},
	{ // upstream panics, or takes it for an answer
		Row: "malformed sizes, lengths, indexes and cursors in replies", Apart: true, Fits: func(i Instant) bool {
			e := i.ended()
			const closes = `|(log|event) .*(getMore|killCursors)`
			return i.Plan.faulty(func(f Fault) bool { return f.What == Lack && strings.HasPrefix(f.Field, "cursor") }) &&
				e.one() && e.fork.matches("error", `"malformed reply: the cursor has no `) &&
				(e.up["error"] == "" || e.up.matches("error", `"(panic: |invalid response from server, no '|database name cannot be empty)`)) &&
				e.rest(wentOn+closes+`|event started (insert of call \d+ watch|distinct of call \d+ snapshot)`, wentOn+closes)
		},
	},
	{ // upstream forgets that the command begins the transaction
		Row: "reauthentication (code 391)", Apart: true, Fits: func(i Instant) bool {
			const begins, sends = `, startTransaction: true`, `server \S+ sees \w+: `
			return i.Plan.faulty(func(f Fault) bool { return f.Code == 391 }) && i.are(sends, sends+`.*`+begins) &&
				len(i.Fork) > 0 && i.but(begins+`|, readConcern: \{"level": "\w+"\}`)
		},
	},
	{ // upstream waits for the router that it is pinned to
		Row: "a transaction finds no server; a commit's result is unknown", Apart: true, Fits: func(i Instant) bool {
			const sends = `event started commitTransaction of call`
			asked := i.Plan.Monitor.On != "" && i.are(``, `ConnectionCheckedIn|"Connection checked in"`) // and took its time
			return (i.Plan.Topology == "sharded:2" && len(i.Upstream) == 0 || strings.HasPrefix(i.Plan.Topology, "loadbalanced:")) &&
				i.are(sends, wentOn+`|`+sends) && len(i.Fork) > 0 &&
				(i.unknown() || asked && i.Plan.commitsAgain()) && i.bound(committing...) &&
				i.later(i.ForkOn, `event started commitTransaction of call CALL|call CALL error`, committing...)
		},
	},
	{ // upstream ends, or begins again, where the fork commits again
		Row: "that error of a commit; a commit that finds no server", Apart: true, Fits: func(i Instant) bool {
			e := i.ended()
			return i.running() && len(e.fork) == 0 && !e.up.matches("is", `UnknownTransactionCommitResult`) &&
				(e.up.matches("error", `^`+unsent) || len(e.up) == 0 && (some(i.Fork, `event started commitTransaction`) ||
					some(i.Upstream, `operation: abortTransaction`) &&
						i.later(i.ForkOn, `event started commitTransaction of call CALL`, "withTransaction")) &&
					some(i.Before, `ConnectionCheckOutFailed|Server selection failed`)) &&
				e.rest(wentOn+`|event started insert of call \d+ withTransaction`,
					wentOn+`|event started commitTransaction of call \d+ withTransaction`)
		},
	},
	{
		Row: "that error of a commit; a commit that finds no server", Fits: func(i Instant) bool {
			e := i.ended()
			const unknown = `UnknownTransactionCommitResult`
			return (e.both("transaction") || e.both("commitAgain")) && e.fork.matches("is", unknown) &&
				!e.up.matches("is", unknown) &&
				some(i.All, `call \d+ (transaction|commitAgain) error`+unsent) && e.sameResult() && e.rest(``, ``)
		},
	},
	{ // and so have the commands that their monitors run
		Row: "that error of a commit; a commit that finds no server", Fits: func(i Instant) bool {
			const unknown = `UnknownTransactionCommitResult`
			e := i.ended()
			return e.both("monitor") && i.under(committing...) != "" && e.adds(unknown) && e.fork.isOne(unknown) && e.sameText() &&
				some(i.All, `call `+e.call+` error`+unsent) && e.sameResult() && e.rest(``, ``)
		},
	},
	{ // and that there was no time for it
		Row: "that error of a commit; a commit that finds no server", Fits: func(i Instant) bool {
			e := i.ended()
			commits := e.both("transaction") || e.both("withTransaction") || e.both("commitAgain")
			return commits && strings.Contains(e.fork["error"], noTime+"server selection error: ") && e.interrupted() &&
				e.adds(append(expired, "UnknownTransactionCommitResult")...) && e.up["returns"] == e.fork["returns"] &&
				some(i.Before, `event failed commitTransaction`) && e.rest(tried, tried)
		},
	},
	{Row: "write without a connection, `retryWrites` on", Fits: func(i Instant) bool {
		e := i.ended()
		return e.both("") && e.writes() && !i.Plan.Has("retryWrites=false") && e.adds("RetryableWriteError") &&
			e.sameText() && some(i.All, `call `+e.call+` error`+unsent) && e.sameResult() && e.rest(``, ``)
	}},
	{Row: "retried abortTransaction", Apart: true, Fits: func(i Instant) bool {
		concern := i.Plan.failsConcern("abortTransaction")
		up, fork := i.starts("abortTransaction of call (" + i.under(transacting...) + ")")
		if concern && i.Plan.Topology == "sharded:2" {
			up += len(i.Plan.Calls) // each of its calls waits in vain for the router that it is pinned to
		}
		return i.are(wentOn+`|event started abortTransaction|log .*abortTransaction`,
			wentOn+`|(log|event started) .*abortTransaction|pool \S+: ConnectionClosed stale|log "Connection closed"`) &&
			(concern || some(i.All, `event (failed|started) abortTransaction|log .*abortTransaction`)) && fork > 0 && fork <= up
	}},
	{ // after a commit that was never sent, upstream's abort has a commit's label
		Row: "retried abortTransaction", Fits: func(i Instant) bool {
			const failed = `(event failed abortTransaction|pool \S+: ConnectionPoolCleared|log) .*network, `
			return len(i.Fork) > 0 && i.are(failed+`UnknownTransactionCommitResult$`, failed+`TransientTransactionError$`) &&
				i.but(`(UnknownTransactionCommitResult|TransientTransactionError)$`)
		},
	},
	{ // and its write concern, if it is sent again
		Row: "retried abortTransaction", Fits: func(i Instant) bool {
			const aborts = `server \S+ sees abortTransaction: `
			const majority, patience = `.*writeConcern: \{"w": "majority"`, `"wtimeout": `
			less := !some(i.Fork, majority) || !some(i.Fork, patience) && some(i.Upstream, patience)
			return len(i.Fork) > 0 && i.are(aborts+majority, aborts) && less && i.but(writeConcern)
		},
	},
	{Row: "`retryWrites=false`, client bulk write in an explicit session", Fits: func(i Instant) bool {
		const numbered = `sees .* txnNumber: .*autocommit: false|no transaction \d+ is in progress`
		return i.Plan.Has("retryWrites=false") && slices.ContainsFunc(bulks, i.Plan.Has) && i.are(numbered, numbered) &&
			i.but(`txnNumber: [^,]*|no transaction \d+`)
	}},
	{ // upstream's getMore does without a connection of its own, or needs a second one
		Row: "client bulk write, reading its results with getMore", Apart: true, Fits: func(i Instant) bool {
			const sends = `|event started (bulkWrite|getMore) of call \d+ clientBulkWrite|log "Command started" commandName: (bulkWrite|getMore)`
			const closes = `|pool \S+: ConnectionClosed stale|log "Connection closed"`
			const cleared = ` \S+ "(bulk write exception: top level error: )?connection pool for \S+ was cleared`
			const others = `|event started \w+ of call` // that waited for a connection
			alone := len(i.Plan.Workers()) == 1
			e := i.ended()
			return (alone || i.asOften(`\w+ of call [1-9]`) || len(i.Plan.Faults) > 0) &&
				(e.call == "" || e.one() && slices.Contains(bulks, e.kind()) && e.up.matches("error", cleared)) &&
				e.rest(wentOn+sends+closes, wentOn+sends+closes+map[bool]string{false: others}[alone]) &&
				some(i.All, `event (succeeded bulkWrite|started (bulkWrite|getMore) of call \d+ clientBulkWrite)`) &&
				(i.endsEarly(bulks...) || i.asOften(`bulkWrite of call \d+ clientBulk`) && i.asOften(`getMore of call \d+ clientBulk`) ||
					i.later(i.UpstreamOn, `call CALL error`+cleared, bulks...) || i.later(i.ForkOn, `call CALL error`+unsent, bulks...) ||
					i.Plan.failsConcern("bulkWrite") && i.later(i.ForkOn, `call CALL error .* write concern errors: `, bulks...))
		},
	},
	{ // and returns its connection when the command's monitor has returned
		Row: "client bulk write, reading its results with getMore", Apart: true, Fits: func(i Instant) bool {
			more := map[bool]string{true: `|` + wentOn}[i.Plan.Monitor.On != ""] // for its results
			return i.Plan.Has("clientBulkWriteMany") && len(i.Upstream) == 0 && i.bound("clientBulkWriteMany") &&
				i.are(``, `pool \S+: ConnectionCheckedIn|log "Connection checked in"`+more)
		},
	},
	{ // behind a load balancer
		Row: "client bulk write, reading its results with getMore", Apart: true, Fits: func(i Instant) bool {
			e := i.ended()
			return e.one() && len(e.fork) == 0 && strings.HasPrefix(e.kind(), "clientBulkWrite") &&
				strings.HasPrefix(i.Plan.Topology, "loadbalanced:") && // where a write concern error hides the other
				e.up.matches("error",
					`an inserted document is too large|^ mongo.ClientBulkWriteException "bulk write exception: write concern errors: `) &&
				e.rest(``,
					wentOn+
						`|event started bulkWrite of call \d+ clientBulkWrite|log "Command started" commandName: bulkWrite`)
		},
	},
	{ // upstream's is still under way when the fork's application commits again
		Row: "`WithTransaction`, client-level timeout without a deadline", Apart: true, Fits: func(i Instant) bool {
			return i.Plan.timeout() > 0 && i.are(`server \S+ sees commitTransaction: .*"w": "majority","wtimeout"`,
				`server \S+ sees commitTransaction: .*writeConcern: \{"w": "majority"\}.* maxTimeMS: `)
		},
	},
	{Row: "a compressor fails, or the connection is closed before the command is sent", Fits: func(i Instant) bool {
		return len(i.Upstream) == 0 && len(i.Fork) == 1 &&
			some(i.Fork,
				`event failed \w+ after \S+: topology\.ConnectionError "connection\(<closed>\) connection is closed" $`)
	}},
	{Row: "write concern error of a batch, none in the next", Fits: func(i Instant) bool {
		e := i.ended()
		return e.call != "" && e.kind() == "bulkWrite" && e.up["error"] == "" &&
			(e.up["returns"] == "" || e.up.matches("returns", `, no error$`)) &&
			e.rest(``, ``) &&
			e.fork.matches("error", `^ mongo\.BulkWriteException "bulk write exception: write concern error: `) &&
			strings.TrimSuffix(e.up["returns"], "no error") == strings.TrimSuffix(e.fork["returns"], "an error")
	}},
}

// Reasons returns the differences that explain an instant: one, or one for each call that ends; or nil.
func Reasons(i Instant) (found []*Difference) {
	if reason := Reason(i); reason != nil {
		return []*Difference{reason}
	}
	for _, part := range i.Parts() {
		reason := Reason(part)
		if reason == nil {
			return nil
		}
		found = append(found, reason)
	}
	return found
}

// Reason returns the difference that explains an instant, or nil.
func Reason(i Instant) *Difference {
	n := slices.IndexFunc(Differences, func(d Difference) bool { return d.Fits != nil && d.Fits(i) })
	if n < 0 {
		return nil
	}
	return &Differences[n]
}
