package trial

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	noTime        = ": no time for a retry: "
	inBackoff     = ": interrupted during the backoff before a retry: "
	noTimeAgain   = `: no time to try the transaction again: |: interrupted before another attempt: `
	noServerAgain = `\bmongo\.CommandError " ?server selection error: context deadline`
	// expired is what a timeout, or a cancellation, adds to an error.
	expired   = `context deadline exceeded|context canceled|timeout`
	transient = `TransientTransactionError`
	unknown   = `UnknownTransactionCommitResult`
	labels    = `SystemOverloadedError, RetryableError`
	overload  = `SystemOverloadedError|RetryableError|network`
	noServer  = `^driver\.WriteCommandError "write command error: \[\{write errors: \[\]\}, \{`

	poolCleared = ` was cleared because another operation failed with: `
	handshake   = `during connection handshake`
	// unfit is an attempt that gets no connection because the pool was cleared, unmade one because none is established.
	unfit  = `^\(no connection: .*` + poolCleared
	unmade = `^\(no connection: .*` + handshake
	// unmadeError is the error of such an attempt.
	unmadeError = handshake + `|incomplete read of message header`
	// unsent are the errors of attempts that got no connection, or no server.
	unsent = `\S+ " ?(connection pool for \S+` + poolCleared + `|server selection error: |` +
		`connection\(\S*\) [^"(]*during connection handshake|[^"(]*checking out a connection)`
	// found is a server that is found again, down one that upstream gives up.
	found = `^(server \S+: Unknown to|topology: )`
	down  = `^(server \S+: \w+ to Unknown|topology: )`

	commitSent   = `^(started|\S+ sees) commitTransaction`
	aborts       = `^(started|\S+ sees) abortTransaction`
	endsTxn      = `^(started|\S+ sees|succeeded|failed) (commit|abort)Transaction`
	begins       = `^(started (insert|abortTransaction)|\S+ sees insert: .*startTransaction: true|failed insert at once: .*context)`
	commitSeen   = `^\S+ sees commitTransaction: `
	countSeen    = `^\S+ sees count: `
	timeoutError = `^mongo\.timeoutError "operation timed out: `
	majority     = `"w": "majority"`
	maxTime      = `, maxTimeMS: \{"\$numberLong":"\d+"\}`
	writeConcern = `, writeConcern: \{("w": ("majority"|\{[^}]*\})|,|"wtimeout": \{[^}]*\})*\}`

	noCall     = `$`
	within     = `withTransaction`
	committing = `transaction|withTransaction|commitAgain`
	// byApplication are those that the application ends.
	byApplication = `transaction|commitAgain|abortedTransaction|abortAgain`
	transactions  = byApplication + `|` + within
	writes        = `(insert|update|replace|delete|findOneAnd|bulkWrite|clientBulkWrite).*`

	beforeRetry      = "the deadline passes, or the context is cancelled, before a retry is sent"
	manyWrites       = "an interrupted write of many documents"
	establishing     = "network error while a connection is established"
	inTxn            = "that error, or one while a connection is established, in a transaction"
	unpinned         = "a transaction finds no server; a commit's result is unknown"
	clearedPool      = "pool cleared before the command asked for a connection"
	between          = "`WithTransaction`, between transactions"
	itsEnd           = "commit and abort by `WithTransaction`"
	otherError       = "`WithTransaction`, time is up after another error"
	wasSent          = "a commit of unknown result that was sent"
	thatError        = "that error of a commit; a commit that finds no server"
	abortAgain       = "retried abortTransaction"
	bulkResults      = "client bulk write, reading its results with getMore"
	deprioritized    = "deprioritized servers"
	reauthentication = "reauthentication (code 391)"
	withDeadline     = "`WithTransaction`, context with a deadline"
	clientLevel      = "`WithTransaction`, client-level timeout without a deadline"
)

// Differences are all of them. A comment says what upstream does.
var Differences = slices.Concat(ofCalls, ofTransactions, ofCommits)

var ofCalls = []Difference{
	{Row: beforeRetry, Ends: "both", When: allOf(anyOf(hurries, beside), interruption(expired), sameResult)},
	// It has the context's error alone.
	{Row: beforeRetry, Ends: "both", When: allOf(same(returns), anyOf(adds(expired+`|network`), allOf(ofKind(writes), adds(expired+
		`|network|RetryableWriteError`))), anyOf(fork(before, unfit), attempted(`\w+`)),
		up(fails, `^\S+ "(calculated server-side timeout .*: )?context (deadline exceeded|canceled)"$`), func(i *Instant) bool {
			_, fork, _ := strings.Cut(i.Fork.end(fails), noTime)
			_, up := i.Up.failure()
			return strings.HasSuffix(fork, up+`"`)
		})},
	// Its retries are lost with their result.
	{Row: manyWrites, Kinds: "insertMany|bulkWrite", Ends: "both", When: allOf(hurries, up(returns, `Acknowledged:false|^<nil>`),
		fork(returns, `Acknowledged:true`), fork(fails, noTime), adds(expired+"|network|RetryableWriteError"))},
	// Its error has not the label of the attempt before.
	{Row: manyWrites, Kinds: "bulkWrite", Ends: "both", When: allOf(hurries, interruption(expired+"|RetryableWriteError"), sameResult)},
	// Its indexes are those of the batch, so it takes some IDs for those that failed.
	{Row: manyWrites, Kinds: "insertMany|bulkWrite", Ends: "both", When: allOf(hurries, interruption(expired), func(i *Instant) bool {
		bare := func(s Side) string {
			return re(`InsertedIDs:\[[^]]*\]`).ReplaceAllString(s.end(returns), "") +
				re(`\d+ (\d+ of )|: \d+`).ReplaceAllString(s.end(detail), "$1")
		}
		ids := func(s Side) int { return len(re(`InsertedIDs:\[[^]]*\]`).FindString(s.end(returns))) }
		indexes := func(s Side) (sum int) {
			for _, one := range re(`(\d+) \d+ of `).FindAllStringSubmatch(s.end(detail), -1) {
				n, _ := strconv.Atoi(one[1])
				sum += n
			}
			return sum
		}
		return bare(i.Up) == bare(i.Fork) && indexes(i.Up) <= indexes(i.Fork) && ids(i.Up) <= ids(i.Fork)
	})},
	// It has an error of another package.
	{Row: manyWrites, Kinds: "clientBulkWrite.*", Ends: "both", When: allOf(hurries, sameResult, up(fails, noServer), fork(is, expired),
		fork(is, `^((timeout|context deadline exceeded|context canceled|network|RetryableWriteError)(, |$))+$`),
		fork(fails, `^backpressure\.Interruption "bulk write exception: write concern errors: \[.*`+noTime))},
	// It starts a command without time, and has its error.
	{Row: beforeRetry, Apart: true, Kinds: "watch", Ends: "both", Up: `^(started aggregate|failed aggregate at once: .*context )`,
		When: allOf(sameResult, up(is, expired), fork(is, expired), not(fork(fails, `^\*errors\.errorString |^context\.`)))},
	{Row: "no server or connection for a retry", Kinds: "watch", Ends: "both", When: allOf(sameResult,
		up(fails, `^topology\.(ServerSelection|poolCleared)Error`), fork(fails, `^mongo\.CommandError`), attempted("aggregate"))},
	// It retries, or waits for a server to do so until its time is up.
	{Row: "change streams, `retryReads=false` under a timeout", Apart: true, Kinds: "watch", Ends: "fork", Up: `^started aggregate`,
		When: allOf(has("retryReads=false"), hurries, anyOf(attempted("aggregate"), fork(fails, `^`+unsent)),
			up(on, `^(started aggregate|is (`+expired+`)|\(no connection: )`))},
	// It avoids the last router only, and so takes turns, a change stream none.
	{Row: deprioritized, Apart: true, Ends: "none", Up: ` sees `, Fork: ` sees `, When: allOf(twoRouters, elsewhere, failedAgain,
		not(up(only, ` sees (getMore|killCursors|(commit|abort)T)`)),
		anyOf(not(up(only, `autocommit: false`)), up(only, `startTransaction: true`)))},
	// So another command begins later with the fork, which needs a connection.
	{Row: deprioritized, Apart: true, Ends: "none", Up: `^started `, When: allOf(twoRouters, failedAgain, shifted)},

	// The other one has failed meanwhile.
	{Row: "option: choice of one of two servers", Apart: true, Ends: "none", Up: `^started | sees `, Fork: `^started | sees `,
		When: allOf(has("adaptiveThrottling=true"), anyOf(twoRouters, has("readPreference")), faulty(Fault{}), sameCourse)},
	{Row: "option: the server closes the connection of a heartbeat before it is established", Apart: true, Kinds: noCall, Ends: "none",
		Up: found, Fork: found, When: allOf(has("adaptiveThrottling=true"), fork(before, `^fault reset$`), shifted)},
	// It connects for minPoolSize; if that fails, it checks the server at once.
	{Row: "a new pool", Apart: true, Kinds: noCall, Ends: "none", Up: found,
		When: allOf(has("minPoolSize"), up(before, `^\(connection closed: .*`+handshake), shifted)},
	// Both fail to establish a connection; only the fork labels it, and goes on.
	{Row: establishing, Apart: true, Ends: "none|up|both", Up: `^(started|failed) killCursors`, When: allOf(up(now, unmade),
		fork(now, unmade+`.*`+labels), ifUp(fails, unmadeError), ifFork(fails, unmadeError),
		anyOf(not(fork(returns, `.`)), labelled))},
	// And goes on with the next statements of a write that is not ordered.
	{Row: establishing, Apart: true, Kinds: "bulkWrite", Ends: "none", Up: `^started `, When: allOf(up(before, unmade),
		fork(before, unmade+`.*`+labels), anyOf(not(fork(on, ` no error$`)), shifted))},
	{Row: establishing, Apart: true, Kinds: noCall, Ends: "none", Up: down, When: allOf(
		up(now, `^\(connection closed: .*`+handshake), fork(now, `^\(connection closed: .*`+handshake+`.*`+labels))},
	// The newest labels it whatever its own labels are.
	{Row: "labels for a refused hello", Apart: true, Ends: "none|both", When: allOf(sameText, ifFork(detail, `^command 473 `),
		up(now, unmade+`(: handshake failure)?: \(InterruptedDueToOverload\).* network, `+labels+`$`))},
	// The newest labels it, too, and returns it, or the error before that of a retry.
	{Row: "errors of establishing a connection", Apart: true, Ends: "up",
		When: allOf(up(fails, `.`), up(now, unmade+`.* `+labels+`$`))},
	{Row: inTxn, Kinds: transactions, Ends: "both",
		When: allOf(adds(transient), sameText, sameResult, up(fails, `^`+unsent), not(commits))},
	// It labels that of a cursor's end, too.
	{Row: inTxn, Kinds: "tailable|findClose|watch", Ends: "both", When: allOf(sameText, sameResult,
		up(fails, `^\*errors\.joinError .*`+poolCleared), up(is, `^`+transient+`$`), fork(is, `^$`))},
	// It returns the error before that of a retry.
	{Row: clearedPool, Apart: true, Ends: "up|both", When: allOf(
		anyOf(up(now, unfit), up(fails, `^(topology\.poolClearedError|\*errors\.joinError) ".*`+poolCleared)),
		ifFork(fails, poolCleared+`|`+noTime+`|connection\(`), anyOf(not(fork(returns, `.`)), notRetried),
		not(allOf(ofKind(byApplication), fork(before, `^succeeded insert`), fork(on, `^started update`))))},
	// It may wait for the same router again.
	{Row: clearedPool, Apart: true, Ends: "none", Fork: `^started `, When: allOf(twoRouters, up(soFar, unfit), shifted)},
	// It sends a client bulk write again that must not be.
	{Row: "`retryWrites=false`, client bulk write that finds the pool cleared", Apart: true, Kinds: "clientBulkWrite.*", Ends: "fork",
		When: allOf(has("retryWrites=false"), fork(now, unfit), fork(fails, `^topology\.poolClearedError `),
			up(on, `^started bulkWrite`))},
	// And so the command of a monitor, which has the transaction's session.
	{Row: clearedPool, Apart: true, Kinds: monitor, Ends: "fork", When: allOf(up(on, `^started count`), fork(is, `^`+transient+`$`),
		fork(fails, `^mongo\.CommandError " ?connection pool for \S+`+poolCleared))},
	{Row: "write without a connection, `retryWrites` on", Kinds: writes, Ends: "both", When: allOf(not(has("retryWrites=false")),
		not(ofKind(`.*teMany`)), adds("RetryableWriteError"), sameText, sameResult, up(fails, `^`+unsent),
		anyOf(not(up(fails, poolCleared)), notRetried))},

	// Its getMore waits for another connection, perhaps for ever; the fork's next batch for a server. So faults meet other
	// commands, but what both return if they succeed is the same, see Strays.
	{Row: bulkResults, Apart: true, Kinds: "clientBulkWrite.*", Ends: "none", Up: `^started (bulkWrite|getMore)`,
		Fork: `^started (bulkWrite|getMore)`, When: anyOf(sameCourse, faulty(Fault{}), allOf(hurries, up(on, `^is (`+expired+`)`)),
			allOf(has("maxPoolSize"), up(on, `^\(no connection: timeout`)))},
	// It has made its one retry for a batch before.
	{Row: "`RetryOnce` with several batches", Apart: true, Kinds: "clientBulkWrite.*", Ends: "none|up",
		Up: `^started bulkWrite| sees bulkWrite: `, Fork: `^started bulkWrite| sees bulkWrite: `, When: allOf(failedAgain,
			func(i *Instant) bool {
				isNew := func(line string) bool { return !slices.Contains(i.Fork[before], line) }
				return !slices.ContainsFunc(i.Fork[rest], isNew)
			})},
	// Which it has at its end.
	{Row: bulkResults, Kinds: "clientBulkWrite.*", Ends: "both", When: allOf(hurries, sameResult, same(is),
		up(fails, `calculated server-side timeout`), fork(fails, `^topology\.WaitQueueTimeoutError `))},
	// It sends the next batch to the same of two routers.
	{Row: bulkResults, Apart: true, Kinds: "clientBulkWrite.*", Ends: "none", Up: ` sees bulkWrite: `,
		Fork: ` sees bulkWrite: `, When: allOf(twoRouters, sameCourse, twice(before, `^started bulkWrite`))},
	// Behind a load balancer it fails, or a write concern error hides the other.
	{Row: bulkResults, Apart: true, Kinds: "clientBulkWrite.*", Ends: "up", Fork: `^started (bulkWrite|getMore)`, When: allOf(proxied,
		up(fails, `an inserted document is too large|^mongo.ClientBulkWriteException "bulk write exception: write concern e`))},
	{Row: "write concern error of a batch, none in the next", Kinds: "bulkWrite|insertMany|watch", Ends: "both",
		When: allOf(adds("network|timeout|RetryableWriteError"), func(i *Instant) bool {
			const exception = "bulk write exception: "
			kind, text := i.Up.failure()
			forkKind, forkText := i.Fork.failure()
			up, more := strings.CutPrefix(text, exception)
			return strings.HasPrefix(forkText, exception+"write concern error: ") &&
				(text == "" || more && kind == forkKind && strings.HasSuffix(forkText, ", "+up)) &&
				alike(i.Up[returns], i.Fork[returns], `, (an|no) error$`)
		})},
	// It panics, or takes it for an answer.
	{Row: "malformed sizes, lengths, indexes and cursors in replies", Apart: true, Ends: "fork|both",
		Up: `^(started|failed|succeeded) `, When: allOf(
			fork(fails, `"malformed reply: the cursor has no `), faulty(Fault{What: Lack, Field: "cursor"}))},
	// Its change stream panics.
	{Row: reauthentication, Apart: true, Kinds: "watch", Ends: "up", Fork: `^started `,
		When: allOf(reauthenticates, up(fails, `"panic: `))},
	// It returns that error where there is no server to send the command to again.
	{Row: reauthentication, Ends: "both", When: allOf(reauthenticates, up(detail, `^command 391 `), same(returns),
		fork(fails, `^topology\.(ServerSelection|poolCleared)Error `))},
	// A retry's authentication fails, and it returns that instead of the error before.
	{Row: reauthentication, Ends: "both", When: allOf(reauthenticates, up(fails, `^\*fmt\.wrapError "error reauthenticating: `),
		fork(fails, `^mongo\.`), same(returns), twice(soFar, `^failed `), attempted(`\w+`))},
	// It lacks the event.
	{Row: "a compressor fails, or the connection is closed before the command is sent", Ends: "none|both",
		Fork: `^failed \w+ at once: topology\.ConnectionError "connection\(<closed>\) connection is closed" $`,
		When: func(i *Instant) bool { return len(i.Up[only]) == 0 && len(i.Fork[only]) == 1 && len(i.Fork[rest]) == 1 }},
}

var (
	// commits is a transaction of which all but the commit has succeeded, so that what ends with an error is that.
	commits = anyOf(ofKind("commitAgain"), allOf(not(ofKind("abortedTransaction")), fork(before, `^succeeded update`)))

	// labelled is an error of a connection that is not established, with labels that such a call's may have.
	labelled = anyOf(adds(overload), allOf(ofKind(writes+`|watch`), adds(overload+`|RetryableWriteError`)),
		allOf(ofKind(transactions), commits, adds(overload+`|RetryableWriteError|`+unknown)),
		allOf(ofKind(transactions), not(commits), adds(overload+`|RetryableWriteError|`+transient)))

	// notRetried is why the fork had to return that the pool was cleared: in a transaction, without time, after the one retry of a
	// write, or as it is not acknowledged.
	notRetried = anyOf(allOf(hurries, fork(is, expired)),
		allOf(ofKind(transactions), anyOf(allOf(fork(is, transient), not(commits)), allOf(fork(is, unknown), commits))),
		allOf(ofKind(writes), fork(is, `RetryableWriteError`), anyOf(has("w=0"), twice(soFar, unfit+`|^failed `))))
)

// beside is what a monitor calls, or what ends a transaction once more.
func beside(i *Instant) bool { return i.Call.ID >= monitors }

// attempted is a command that has failed with the call's error.
func attempted(command string) clue {
	return func(i *Instant) bool {
		_, text := i.Fork.failure()
		text, _, _ = strings.Cut(strings.TrimSpace(text), noTime) // a command's error has a space where it has no name
		return text != "" && some(i.Fork[soFar], `^failed `+command+`( at once)?: .*" ?(.*: )?`+regexp.QuoteMeta(text)+`"`)
	}
}

// failedAgain is whether more commands have failed with upstream, be it by a write concern error, than it avoids routers: a change stream
// none.
func failedAgain(i *Instant) bool {
	name := re(`^(?:\S+ sees|started) (\w+)`).FindStringSubmatch(slices.Concat(i.Up[only], i.Fork[only])[0])
	if name == nil {
		return false
	}
	n := count(i.Up[soFar], `^failed `+name[1]+`\b`)
	if faulty(Fault{What: Concern, On: name[1]})(i) {
		n += count(i.Up[before], `^succeeded `+name[1]+`\b`)
	}
	return n > 1 || n > 0 && i.Call.Kind == "watch"
}

// elsewhere is whether a command goes to one server with upstream, and to another with the fork.
var elsewhere = shown(func(line, other string) bool {
	_, seen, _ := strings.Cut(line, " ")
	return strings.HasSuffix(other, seen) && other != line
})
