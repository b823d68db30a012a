package trial

import (
	"slices"
	"strings"
)

const (
	// tried is what an attempt that sends no command shows.
	tried = `(pool \S+: ConnectionCheckOut(Started|Failed)|` +
		`log "(Connection checkout (started|failed)|Server selection (started|succeeded|failed)|` +
		`Waiting for suitable server to become available)")`
	// wentOn is what an attempt shows before it sends a command.
	wentOn = `(` + tried + `|pool \S+: Connection(CheckedOut|CheckedIn|Created)|log "Connection (checked (in|out)|created)")`
	picks  = wentOn + `|event started \w+ of call|log "Command started"`
	// beginsAgain is what a transaction shows that begins again, also without time.
	beginsAgain = wentOn + `|event started (insert|abortTransaction) of call \d+ withTransaction|` +
		`server \S+ sees insert: .*startTransaction: true|log "Command started"|event started count of call \d+ monitor|` +
		`pool \S+: ConnectionClosed idle|log "Connection closed" reason: Connection has been available but unused|` +
		`(event failed insert after 0s|log "Command failed" commandName: insert).* context (canceled|deadline exceeded)`
	// isClosed is what upstream's may show beside that: its connection was closed meanwhile.
	isClosed = `|event failed insert after 0s: .* network, TransientTransactionError$|heartbeat |server \S+: \w+ to Unknown|` +
		`topology: |pool \S+: Connection(Closed error|PoolCleared)|log `
	begins = `server \S+ sees .* startTransaction: true`
	// unsent are the errors of such attempts: the pool was cleared, no server was found, no connection was established.
	unsent = ` ?\S+ " ?(connection pool for \S+ was cleared because another operation failed|server selection error: |` +
		`connection\(\S*\) [^"(]*during connection handshake|[^"(]*checking out a connection)`
	poolCleared = ` was cleared because another operation failed with: `
	// fails is a connection that is not established.
	fails = `Connection(CheckOutFailed connectionE|Closed e)rror .*during connection handshake`
	// clears is what upstream does then, and the fork not.
	clears = `|pool \S+: Connection(PoolCleared|Closed)|log "(Connection pool cleared|Connection closed|Command started)"|` +
		`server \S+: \w+ to Unknown|topology: `
	closed = `pool \S+: ConnectionClosed stale|log "Connection closed"`
	// refused is a hello's rejection.
	refused = `(pool \S+: Connection(CheckOutFailed connectionE|Closed e)rror|log "Connection (checkout failed|closed)") ` +
		`.*during connection handshake: \(InterruptedDueToOverload\)`

	noTime = ": no time for a retry: "
	// expired is what a timeout, or a cancellation, adds to an error.
	expired   = `context deadline exceeded|context canceled|timeout`
	transient = `TransientTransactionError`
	unknown   = `UnknownTransactionCommitResult`
	noServer  = `driver\.WriteCommandError "write command error: \[\{write errors: \[\]\}, \{`

	commitOf   = `event started commitTransaction of call`
	commitOn   = commitOf + ` CALL|call CALL error`
	endFails   = `event failed (commit|abort)Transaction .* context deadline exceeded`
	endOn      = `event started (commit|abort)Transaction of call`
	insertOn   = `event started insert of call CALL|call CALL error`
	abortFails = `^ *[\d.]* *(event failed abortTransaction|pool \S+: ConnectionPoolCleared|log) .*network, `
	commitSeen = `server \S+ sees commitTransaction: `
	countSeen  = `server \S+ sees count: `
	majority   = `"w": "majority"`
	// lost is the end of a commit of which it is not known whether it took place, and ending that of any call that commits.
	lost   = `call \d+ (transaction|withTransaction|commitAgain) is timeout.*` + unknown
	ending = `call \d+ (\w+Transaction|transaction|commitAgain|abortAgain) (error|is|detail|returns <nil>, an error)`
	// maxTime and writeConcern are fields of commands.
	maxTime      = `maxTimeMS: \{"\$numberLong":"\d+"\}`
	writeConcern = `, writeConcern: \{("w": ("majority"|\{[^}]*\})|,|"wtimeout": \{[^}]*\})*\}`
	bulkCleared  = ` \S+ "(bulk write exception: top level error: )?connection pool for \S+ was cleared`
	asksToo      = `|event started count of call \d+ monitor`
	bulkSends    = asksToo + `|event started (bulkWrite|getMore) of call \d+ clientBulkWrite|` +
		`log "Command started" commandName: (bulkWrite|getMore)`

	// unpaired is the event that upstream lacks.
	unpaired = `event failed \w+ after \S+: topology\.ConnectionError "connection\(<closed>\) connection is closed" $`

	beforeRetry = "the deadline passes, or the context is cancelled, before a retry is sent"
	manyWrites  = "an interrupted write of many documents"
	clearedPool = "pool cleared before the command asked for a connection"
	between     = "`WithTransaction`, between transactions"
	itsEnd      = "commit and abort by `WithTransaction`"
	otherError  = "`WithTransaction`, time is up after another error"
	wasSent     = "a commit of unknown result that was sent"
	unpinned    = "a transaction finds no server; a commit's result is unknown"
	thatError   = "that error of a commit; a commit that finds no server"
	abortAgain  = "retried abortTransaction"
	bulkResults = "client bulk write, reading its results with getMore"
)

var (
	within      = []string{"withTransaction"}
	committing  = append(within, "transaction")
	transacting = append(committing, "abortedTransaction")
	bulks       = []string{"clientBulkWrite", "clientBulkWriteMany"}
)

// Differences are all of them. A comment says what upstream does.
var Differences = []Difference{
	{Row: "handshake", Hide: re(`, backpressure: (true|"2")`)},
	{Row: "name of the operation in lines about server selection, before the command is built",
		Hide: re(`\boperation: (create|ping|aggregate)?, `)},
	{Row: "option: the server closes the connection of a heartbeat before it is established", Apart: true, When: func(i seen) bool {
		return i.Plan.Has("adaptiveThrottling=true") && len(i.Upstream)+len(i.Fork) == 1 &&
			some(i.Before, `heartbeat \S+ failed after \S+, awaited false: .*\b(reset by peer|EOF)`)
	}, Up: side{lines: `heartbeat \S+ started, awaited false`}, Fork: side{lines: `heartbeat \S+ started, awaited false`}},
	{Row: "log lines", Hide: re(`^log "(Starting topology monitoring|The program requires a newer driver|Command retr(y|ies) ).*`)},
	// With minPoolSize it connects to an unknown server.
	{Row: "a new pool", Apart: true, When: func(i seen) bool { return i.At == 0 && i.Plan.Has("minPoolSize") },
		Up: side{lines: `pool \S+: ConnectionCreated|log "Connection created"`}},

	{Row: beforeRetry, Ends: `both .*`, When: func(i seen) bool { return i.interrupted(expired) && i.sameResult() },
		Up: side{lines: tried}, Fork: side{lines: tried}},
	// It asks for a connection without time, and sometimes gets one.
	{Row: beforeRetry, Apart: true, Ends: `both .*`, When: func(i seen) bool { return i.interrupted(expired) && i.sameResult() },
		Up: side{lines: wentOn, one: `ConnectionCreated`}, Fork: side{lines: tried}},
	// Its retries are lost with their result.
	{Row: manyWrites, Ends: `both bulkWrite`, Up: side{lines: tried, returns: `Acknowledged:false`},
		Fork: side{lines: tried, error: noTime, is: expired, returns: `Acknowledged:true`}},
	// Its error has not the label of the attempt before.
	{Row: manyWrites, Ends: `both bulkWrite`, Up: side{lines: tried}, Fork: side{lines: tried},
		When: func(i seen) bool { return i.interrupted(expired+"|RetryableWriteError") && i.sameResult() }},
	// Its indexes are those of the batch.
	{Row: manyWrites, Ends: `both (insertMany|bulkWrite)`, Up: side{lines: tried}, Fork: side{lines: tried},
		When: func(i seen) bool { return (i.kind() == "insertMany" || i.Plan.Batch > 0) && i.interrupted(expired) }},
	// It has an error of another package.
	{Row: manyWrites, Ends: `both clientBulkWrite.*`, When: seen.sameResult, Up: side{lines: tried, error: `^ ` + noServer},
		Fork: side{lines: tried, is: expired,
			error: `^ backpressure\.Interruption "bulk write exception: write concern errors: \[.*\]: no time for a retry: `}},
	// It starts a command without time, and has its error, and sometimes one more connection.
	{Row: beforeRetry, Apart: true, Ends: `both watch`, When: seen.sameResult,
		Up: side{is: expired, lines: wentOn + `|pool \S+: ConnectionClosed idle|event started aggregate of call \d+ watch|` +
			`(event|log) .*failed.*aggregate.*context (canceled|deadline exceeded)|log "(Command started|Connection closed)"`},
		Fork: side{is: expired, lines: tried}},
	{Row: "no server or connection for a retry", Ends: `both watch`, When: seen.sameResult,
		Up:   side{lines: tried, error: `^ topology\.ServerSelectionError`},
		Fork: side{lines: tried, error: `^ mongo\.CommandError`, detail: `command`}},
	{Row: "change streams, `retryReads=false` under a timeout", Apart: true, Ends: `fork watch`,
		When: func(i seen) bool { return i.Plan.Has("retryReads=false") && i.Plan.deadline(i.call) },
		Up:   side{lines: wentOn + `|event started aggregate of call \d+ watch`}, Fork: side{error: `.`}},

	// It avoids the last router only, and so takes turns.
	{Row: "deprioritized servers", Apart: true, When: func(i seen) bool {
		return i.Plan.Topology == "sharded:2" && strings.Count(strings.Join(i.Before, "\n"), " event failed ") > 2
	}, Up: side{lines: picks, one: `CheckOutStarted`}, Fork: side{lines: picks, one: `CheckOutStarted`}},
	// Both fail to establish a connection; only the fork labels it, and goes on.
	{Row: "network error while a connection is established", Apart: true, Ends: `none|(up|both) .*`,
		When: func(i seen) bool {
			return (i.up["error"] != "" || i.adds(`SystemOverloadedError|RetryableError`)) &&
				(i.up["error"] == "" || len(i.fork) == 0 || i.fork["error"] != "")
		},
		Up: side{one: fails, lines: wentOn + clears + `|` + fails,
			error: `^$|during connection handshake| incomplete read of message header`},
		Fork: side{one: fails + `.*SystemOverloadedError, RetryableError`, lines: tried + `|` + fails,
			error: `^$|during connection handshake`}},
	// The newest labels it whatever its own labels are.
	{Row: "labels for a refused hello", Apart: true, Ends: `none|both .*`,
		When: func(i seen) bool { return i.up["error"] == i.fork["error"] },
		Up:   side{lines: refused, one: refused + `.* network, SystemOverloadedError, RetryableError$`},
		Fork: side{lines: refused, one: refused + `.* SystemOverloadedError$`, detail: `^ command 473 `}},
	// The newest labels it, too, and returns it, or the error before that of a retry.
	{Row: "errors of establishing a connection", Apart: true, Ends: `up .*`, When: func(i seen) bool {
		const overload = `SystemOverloadedError, RetryableError`
		return some(i.All, `CheckOutFailed .*during connection handshake.* `+overload+`$`) ||
			i.up.matches("error", `during connection handshake`) && i.up.matches("is", overload)
	}, Up: side{lines: wentOn, error: `.`}, Fork: side{lines: wentOn}},
	{Row: "that error, or one while a connection is established, in a transaction", Ends: `both .*[tT]ransaction`,
		When: func(i seen) bool {
			return i.adds(transient) && i.sameText() && i.sameResult() && some(i.All, `call `+i.call+
				` error .*(was cleared because another operation failed|during connection handshake)`)
		}, Up: side{lines: tried}, Fork: side{lines: tried}},
	// It labels that of a cursor's end, too.
	{Row: "that error, or one while a connection is established, in a transaction", Ends: `both (tailable|findClose|watch)`,
		When: func(i seen) bool {
			return i.sameText() && i.sameResult() && some(i.All, `call `+i.call+` error \*errors\.joinError .*`+poolCleared)
		}, Up: side{is: `^ ` + transient + `$`}, Fork: side{is: `^ ?$`}},
	// It returns the error before that of a retry.
	{Row: clearedPool, Apart: true, Ends: `(up|both) .*`, Up: side{lines: tried, error: `.`}, When: func(i seen) bool {
		return some(i.All, `CheckOutFailed .*`+poolCleared) ||
			i.up.matches("error", `^ (topology\.poolClearedError|\*errors\.joinError) ".*`+poolCleared)
	},
		Fork: side{lines: wentOn, later: `CheckOutStarted|Server selection started`,
			is: transient + `|RetryableWriteError|context (deadline exceeded|canceled)`}},
	// It retries a command of a transaction that was in the wait queue.
	{Row: clearedPool, Apart: true, Kinds: transacting,
		When: func(i seen) bool { return some(i.Before, `CheckOutFailed .*poolClearedError`) },
		Up:   side{lines: wentOn, one: `CheckOutStarted`, later: `event started (insert|update) of call CALL`},
		Fork: side{lines: wentOn, later: `event started abortTransaction of call CALL`}},
	// And so the command of a monitor, which has the transaction's session.
	{Row: clearedPool, Apart: true, Ends: `fork monitor`, Kinds: transacting,
		When: func(i seen) bool { return some(i.UpstreamOn, `event started count of call `+i.call) }, Up: side{lines: tried},
		Fork: side{error: `^ mongo\.CommandError " ?connection pool for \S+ was cleared`, is: `^ ` + transient + `$`}},

	// It begins at once.
	{Row: between, Apart: true, Ends: `none|fork withTransaction`, Kinds: within, Up: side{lines: beginsAgain + isClosed},
		Fork: side{error: `: no time to try the transaction again: `, later: insertOn}},
	// It waits, although nobody waits for it.
	{Row: between, Apart: true, Ends: `fork withTransaction`, Kinds: within, Up: side{lines: beginsAgain},
		When: func(i seen) bool { return i.endsEarly(within...) },
		Fork: side{error: `: interrupted before another attempt: context canceled"$`, is: transient}},
	// It begins again without time, and has its error.
	{Row: between, Apart: true, Ends: `both withTransaction`,
		When: func(i seen) bool { return i.up["returns"] == i.fork["returns"] && !i.up.matches("is", transient) },
		Up:   side{lines: beginsAgain, is: expired, error: `calculated server-side timeout|context (deadline exceeded|canceled)`},
		Fork: side{is: `(` + expired + `).*` + transient}},
	// The newest begins after another backoff.
	{Row: between, Apart: true, Kinds: within, Up: side{later: insertOn},
		Fork: side{lines: beginsAgain, one: `event started insert of call \d+ withTransaction|CheckOutStarted`}},
	// The operation that a server sees at one time begins at another.
	{Row: between, Kinds: within, Up: side{lines: begins}, Fork: side{lines: begins}, But: maxTime},
	// By another router: each driver draws numbers for its backoffs.
	{Row: between, Apart: true, Kinds: within, When: func(i seen) bool { return i.Plan.Topology == "sharded:2" },
		Up: side{lines: beginsAgain}, Fork: side{lines: beginsAgain, one: `CheckOutStarted`}, But: `\d{5}\b`},
	// Or by about a microsecond.
	{Row: between, Apart: true, Up: side{lines: `.`}, Fork: side{lines: `.`}, When: func(i seen) bool {
		return i.Plan.Has("withTransaction") && soon(i.Upstream, i.ForkOn) && soon(i.Fork, i.UpstreamOn)
	}},
	// Its have not the client's Timeout.
	{Row: itsEnd, Kinds: within, When: seen.limited, Up: side{lines: `server \S+ sees (commit|abort)Transaction: `, no: `maxTimeMS`},
		Fork: side{lines: `server \S+ sees (commit|abort)Transaction: .*, maxTimeMS: `}, But: `, ` + maxTime},
	// Which lets the fork's be retried more than once.
	{Row: itsEnd, Apart: true, Ends: `up withTransaction`, Kinds: within, Up: side{error: `.`},
		When: func(i seen) bool { return i.limited() && some(i.All, `event failed (abort|commit)Transaction`) },
		Fork: side{lines: wentOn + `|(log|event started) .*(abort|commit)Transaction`}},
	// And ends them.
	{Row: itsEnd, Apart: true, Ends: `none|fork withTransaction`, Kinds: within, When: func(i seen) bool {
		return i.limited() && i.At >= i.Plan.timeout() && (len(i.fork) > 0 || some(i.Fork, endFails)) &&
			some(i.Before, `event started (commit|abort)Transaction`)
	}, Fork: side{lines: wentOn + `|pool \S+: ConnectionClosed|log |` + endFails}},
	// And so have the commands that their monitors run.
	{Row: itsEnd, Kinds: within, When: func(i seen) bool { return i.limited() && i.Plan.Monitor.Asks > 0 },
		Up: side{lines: countSeen + `.*, maxTimeMS: `}, Fork: side{lines: countSeen + `.*, maxTimeMS: `}, But: `, ` + maxTime},
	// Which then end, too.
	{Row: itsEnd, Apart: true, Ends: `fork monitor`, When: func(i seen) bool {
		return i.limited() && i.At >= i.Plan.timeout() && i.under(within) != ""
	}, Fork: side{is: `context deadline exceeded`, lines: wentOn + `|pool \S+: ConnectionClosed|log |` +
		`event failed (count|(commit|abort)Transaction) .*context deadline exceeded`}},
	// Only the fork says it.
	{Row: otherError, Ends: `both withTransaction`, When: func(i seen) bool {
		_, up, isTimeout := strings.Cut(strings.TrimSuffix(i.up["error"], `"`), ` mongo.timeoutError "operation timed out: `)
		return isTimeout && i.adds(expired) &&
			strings.HasPrefix(i.fork["error"], ` backpressure.Interruption "`+up+": no time to try the transaction again: ")
	}},
	// The newest says it of any error.
	{Row: otherError, Ends: `both withTransaction`, Up: side{error: `^ mongo\.timeoutError "operation timed out: `},
		But: ` error \S+ "(operation timed out: )?| is (timeout(, )?)?`},
	{Row: "`WithTransaction`, context with a deadline", Apart: true, Ends: `fork withTransaction`, Up: side{lines: wentOn},
		When: func(i seen) bool { return i.Plan.deadline(i.call) },
		Fork: side{error: `calculated server-side timeout|context deadline exceeded`, is: `context deadline exceeded`}},

	// It commits again at once.
	{Row: "a commit's result is unknown", Apart: true, Kinds: committing, When: seen.unknown,
		Up: side{one: `commitTransaction`,
			lines: wentOn + `|event started commitTransaction|server \S+ sees commitTransaction|log .*commitTransaction`},
		Fork: side{lines: wentOn + `|` + closed,
			later: commitOf + ` CALL|call CALL error.*(no time for a retry|` + unsent + `)`}},
	{Row: "a commit of unknown result by `WithTransaction`", Apart: true, Ends: `none|fork withTransaction`, Kinds: within,
		When: func(i seen) bool { return i.unknown() || some(i.Before, `event failed commitTransaction`) },
		Up:   side{lines: wentOn + `|log "Command started"|` + commitOf},
		Fork: side{error: `: no time to try the transaction again: `, later: commitOn}},
	// It sends the third at once, and with another label if its commit was not sent.
	{Row: "retries of commit and abort under a deadline or `Timeout`", Apart: true, Kinds: transacting,
		When: func(i seen) bool {
			return i.endsEarly(transacting...) && some(slices.Concat(i.Before, i.All), `event failed (commit|abort)Transaction`)
		}, Up: side{lines: wentOn + `|log "Command started"|` + endOn + `|` + abortFails + unknown + `$`},
		Fork: side{lines: abortFails + transient + `$`, later: endOn + ` CALL|call CALL (error|returns)`}},
	// It aborts it, by EndSession or because the application says so.
	{Row: wasSent, Apart: true, Kinds: committing, When: func(i seen) bool { return some(i.All, lost) },
		Up: side{one: `ConnectionCheckOutStarted|event started abortTransaction`,
			later: `event started abortTransaction|CheckOutFailed`, lines: wentOn + `|pool \S+: ConnectionClosed idle|` +
				`event started abortTransaction|log "Command started" commandName: abortTransaction|` +
				`call \d+ abortAgain returns <nil>, no error`},
		Fork: side{one: lost + `|abortAgain error .*after calling commitTransaction|call \d+ transaction error`,
			lines: wentOn + `|` + ending}},
	// It returns it without a label if no server is found for the next commit, or later.
	{Row: wasSent, Apart: true, When: func(i seen) bool {
		return i.Plan.failsConcern("commitTransaction") &&
			(some(i.Upstream, `call \d+ \w*ransaction error `+noServer) ||
				len(i.Upstream) == 0 && some(i.Fork, unknown)) && some(i.Fork, unknown) == some(i.Fork, `^ *[\d.]* *call`)
	}, Up: side{lines: ending, no: unknown}, Fork: side{lines: wentOn + `|` + ending}},
	// Its next commit has the old write concern.
	{Row: wasSent, Up: side{lines: commitSeen, no: majority}, Fork: side{lines: commitSeen + `.*writeConcern: \{` + majority},
		But: writeConcern},
	// The commit after one that was not sent has the majority.
	{Row: wasSent, Up: side{lines: commitSeen + `.*writeConcern: \{` + majority}, Fork: side{lines: commitSeen, no: majority},
		When: func(i seen) bool {
			return some(i.Before, `event failed commitTransaction after 0s: .* context (deadline exceeded|canceled)`)
		}, But: writeConcern},
	// Which the command of a monitor, with the transaction's session, shows as well.
	{Row: wasSent, Kinds: committing, When: func(i seen) bool { return i.Plan.Monitor.Asks > 0 },
		Up: side{lines: countSeen}, Fork: side{lines: countSeen},
		But: `, readConcern: \{"afterClusterTime": \{"\$timestamp":\{[^}]*\}\}\}|` + writeConcern},
	// The application commits again, by another router, which no connection is idle for.
	{Row: unpinned, Apart: true, Kinds: committing,
		When: func(i seen) bool { return i.Plan.commitsAgain() && i.Plan.Topology == "sharded:2" },
		Up:   side{lines: wentOn + `|pool \S+: ConnectionClosed idle|` + closed + `|` + commitOf + asksToo, one: `CheckOutStarted`},
		Fork: side{lines: wentOn + `|pool \S+: ConnectionClosed idle|` + closed, one: `CheckOutStarted`, later: commitOn}},
	// It panics, or takes it for an answer.
	{Row: "malformed sizes, lengths, indexes and cursors in replies", Apart: true, Ends: `(fork|both) .*`,
		When: func(i seen) bool {
			return i.Plan.faulty(func(f Fault) bool { return f.What == Lack && strings.HasPrefix(f.Field, "cursor") })
		},
		Up: side{error: `^$|"(panic: |invalid response from server, no '|database name cannot be empty)`, lines: wentOn +
			`|(log|event) .*(getMore|killCursors)|(log "Command|event) started"? .*(insert|distinct)`},
		Fork: side{error: `"malformed reply: the cursor has no `, lines: wentOn + `|(log|event) .*(getMore|killCursors)`}},
	// It forgets that the command begins the transaction.
	{Row: "reauthentication (code 391)", Apart: true,
		When: seen.reauthenticates,
		Up:   side{lines: `server \S+ sees \w+: `}, Fork: side{lines: `server \S+ sees \w+: .*, startTransaction: true`},
		But: `, startTransaction: true|, readConcern: \{"level": "\w+"\}`},
	// Its change stream panics.
	{Row: "reauthentication (code 391)", Apart: true, Ends: `up watch`,
		When: seen.reauthenticates,
		Up:   side{error: `"panic: `}, Fork: side{lines: picks}},
	// It waits for the router that it is pinned to.
	{Row: unpinned, Apart: true, Kinds: committing, When: func(i seen) bool {
		asked := i.Plan.Monitor.On != "" && every(i.Fork, `ConnectionCheckedIn|"Connection checked in"`) // and took its time
		return (i.Plan.Topology == "sharded:2" && len(i.Upstream) == 0 || i.Plan.Proxied()) && len(i.Fork) > 0 &&
			(i.unknown() || asked && len(i.Upstream) == 0 && i.Plan.commitsAgain())
	}, Up: side{lines: commitOf}, Fork: side{lines: wentOn + `|` + commitOf, later: commitOn}},
	// It ends, or begins again, where the fork commits again.
	{Row: thatError, Apart: true, Ends: `none|up withTransaction`, Kinds: within, When: func(i seen) bool {
		aborts := some(i.Upstream, `operation: abortTransaction`) && i.later(i.ForkOn, commitOf+` CALL`, within)
		return !i.up.matches("is", unknown) && (len(i.up) > 0 || (some(i.Fork, `event started commitTransaction`) || aborts) &&
			some(i.Before, `ConnectionCheckOutFailed|Server selection failed`))
	}, Up: side{lines: wentOn + `|event started insert of call \d+ withTransaction`, error: `^` + unsent},
		Fork: side{lines: wentOn + `|` + commitOf + ` \d+ withTransaction`}},
	{Row: thatError, Ends: `both (transaction|commitAgain)`, Fork: side{is: unknown}, When: func(i seen) bool {
		return !i.up.matches("is", unknown) && i.sameResult() && some(i.All, `call \d+ (transaction|commitAgain) error`+unsent)
	}},
	// And that there was no time for it.
	{Row: thatError, Ends: `both (transaction|withTransaction|commitAgain)`, When: func(i seen) bool {
		return i.interrupted(expired+`|`+unknown) && i.up["returns"] == i.fork["returns"] &&
			some(i.Before, `event failed commitTransaction`)
	}, Up: side{lines: tried}, Fork: side{lines: tried, error: noTime + ` ?server selection error: `}},
	{Row: "write without a connection, `retryWrites` on",
		Ends: `both (insert|update|replace|delete|findOneAnd|bulkWrite|clientBulkWrite).*`, When: func(i seen) bool {
			return !i.Plan.Has("retryWrites=false") && i.adds("RetryableWriteError") && i.sameText() && i.sameResult() &&
				some(i.All, `call `+i.call+` error`+unsent)
		}},
	{Row: abortAgain, Apart: true, When: func(i seen) bool {
		concern := i.Plan.failsConcern("abortTransaction")
		up, fork := i.starts("abortTransaction of call (" + i.under(transacting) + ")")
		if i.Plan.Topology == "sharded:2" {
			up += len(i.Plan.Calls) // each of its calls waits in vain for the router that it is pinned to
		}
		return (concern || some(i.All, `event (failed|started) abortTransaction|log .*abortTransaction`)) && fork > 0 && fork <= up
	}, Up: side{lines: wentOn + `|event started abortTransaction|log .*abortTransaction`},
		Fork: side{lines: wentOn + `|(log|event started) .*abortTransaction|` + closed}},
	// After a commit that was never sent, its abort has a commit's label.
	{Row: abortAgain, Up: side{lines: abortFails + unknown + `$`}, Fork: side{lines: abortFails + transient + `$`},
		But: `(` + unknown + `|` + transient + `)$`},
	// And its write concern, if it is sent again.
	{Row: abortAgain, When: func(i seen) bool {
		return !some(i.Fork, majority) || !some(i.Fork, `"wtimeout": `) && some(i.Upstream, `"wtimeout": `)
	}, Up: side{lines: `server \S+ sees abortTransaction: .*writeConcern: \{` + majority},
		Fork: side{lines: `server \S+ sees abortTransaction: `}, But: writeConcern},

	// Its getMore does without a connection of its own, or needs a second one.
	{Row: bulkResults, Apart: true, Ends: `none|(up|both) clientBulkWrite(Many)?`, When: func(i seen) bool {
		others := `|event started \w+ of call` // that waited for a connection
		if len(i.Plan.Workers()) == 1 {
			others = ``
		}
		return (others == `` || i.asOften(`\w+ of call [1-9]`) || len(i.Plan.Faults) > 0) &&
			every(i.restFork, wentOn+bulkSends+`|`+closed+others) &&
			some(i.All, `event (succeeded bulkWrite|started (bulkWrite|getMore) of call \d+ clientBulkWrite)`) &&
			(i.endsEarly(bulks...) || i.asOften(`bulkWrite of call \d+ clientBulk`) && i.asOften(`getMore of call \d+ clientBulk`) ||
				i.Plan.faulty(func(f Fault) bool { return f.What == Drop && f.On == "getMore" }) ||
				i.later(i.UpstreamOn, `call CALL error`+bulkCleared, bulks) || i.later(i.ForkOn, `call CALL error`+unsent, bulks) ||
				i.Plan.failsConcern("bulkWrite") && i.later(i.ForkOn, `call CALL error .* write concern errors: `, bulks))
	}, Up: side{lines: wentOn + bulkSends + `|` + closed, error: bulkCleared}, Fork: side{lines: `.`}},
	// It returns its connection when the command's monitor has returned.
	{Row: bulkResults, Apart: true, Kinds: []string{"clientBulkWriteMany"},
		When: func(i seen) bool {
			return i.Plan.Monitor.On != "" || every(i.Fork, `pool \S+: ConnectionCheckedIn|log "Connection checked in"`)
		}, Fork: side{lines: wentOn}},
	// Behind a load balancer, where a write concern error hides the other.
	{Row: bulkResults, Apart: true, Ends: `up clientBulkWrite.*`, When: func(i seen) bool { return i.Plan.Proxied() },
		Up: side{error: `an inserted document is too large|^ mongo.ClientBulkWriteException "bulk write exception: write concern errors: `},
		Fork: side{lines: wentOn +
			`|event started bulkWrite of call \d+ clientBulkWrite|log "Command started" commandName: bulkWrite`}},
	// Its is still under way when the fork's application commits again.
	// It begins again.
	{Row: "`WithTransaction`, client-level timeout without a deadline", Apart: true, Ends: `fork withTransaction`,
		When: func(i seen) bool { return i.Plan.timeout() > 0 && i.At >= i.Plan.timeout() },
		Up:   side{lines: beginsAgain}, Fork: side{is: `context deadline exceeded.*` + transient}},
	{Row: "`WithTransaction`, client-level timeout without a deadline", Apart: true, When: seen.limited,
		Up:   side{lines: commitSeen + `.*"w": "majority","wtimeout"`},
		Fork: side{lines: commitSeen + `.*writeConcern: \{"w": "majority"\}.* maxTimeMS: `}},
	{Row: "a compressor fails, or the connection is closed before the command is sent",
		When: func(i seen) bool { return len(i.Fork) <= 2 },
		Fork: side{one: unpaired, lines: unpaired + `|log "Command failed" .*connection\(<closed>\) connection is closed, `}},
	{Row: "write concern error of a batch, none in the next", Ends: `(fork|both) bulkWrite`,
		When: func(i seen) bool {
			return strings.TrimSuffix(i.up["returns"], "no error") == strings.TrimSuffix(i.fork["returns"], "an error")
		}, Up: side{error: `^$`, returns: `^$|, no error$`},
		Fork: side{error: `^ mongo\.BulkWriteException "bulk write exception: write concern error: `}},
}
