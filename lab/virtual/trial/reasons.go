package trial

import (
	"regexp"
	"slices"
	"strings"
)

const (
	noTime    = ": no time for a retry: "
	inBackoff = ": interrupted during the backoff before a retry: "
	// expired is what a timeout, or a cancellation, adds to an error.
	expired   = `context deadline exceeded|context canceled|timeout`
	transient = `TransientTransactionError`
	unknown   = `UnknownTransactionCommitResult`
	noServer  = `^driver\.WriteCommandError "write command error: \[\{write errors: \[\]\}, \{`

	poolCleared = ` was cleared because another operation failed with: `
	// unfit is an attempt that gets no connection because the pool was cleared.
	unfit = `^\(no connection: .*` + poolCleared
	// unsent are the errors of attempts that got no connection, or no server.
	unsent = `\S+ " ?(connection pool for \S+` + poolCleared + `|server selection error: |` +
		`connection\(\S*\) [^"(]*during connection handshake|[^"(]*checking out a connection)`

	commitSent   = `^(started|\S+ sees) commitTransaction`
	aborts       = `^(started|\S+ sees) abortTransaction`
	endsTxn      = `^(started|\S+ sees|succeeded|failed) (commit|abort)Transaction`
	begins       = `^(started (insert|abortTransaction)|\S+ sees insert: .*startTransaction: true)`
	commitSeen   = `^\S+ sees commitTransaction: `
	countSeen    = `^\S+ sees count: `
	majority     = `"w": "majority"`
	maxTime      = `, maxTimeMS: \{"\$numberLong":"\d+"\}`
	writeConcern = `, writeConcern: \{("w": ("majority"|\{[^}]*\})|,|"wtimeout": \{[^}]*\})*\}`

	within     = `withTransaction`
	committing = `transaction|withTransaction|commitAgain`
	// byApplication are those that the application ends.
	byApplication = `transaction|commitAgain|abortedTransaction|abortAgain`
	transactions  = byApplication + `|` + within
	writes        = `(insert|update|replace|delete|findOneAnd|bulkWrite|clientBulkWrite).*`

	beforeRetry     = "the deadline passes, or the context is cancelled, before a retry is sent"
	clearedPool     = "pool cleared before the command asked for a connection"
	wasSent         = "a commit of unknown result that was sent"
	thatError       = "that error of a commit; a commit that finds no server"
	sharedTimeout   = "the client's Timeout, `Collection.BulkWrite` of several commands"
	seesWrite       = `^\S+ sees (insert|update|delete): `
	severalCommands = "a write of several commands, of which some fail"
	bulkResults     = "client bulk write, reading its results with getMore"
)

// Differences are all of them. A comment says what upstream does.
var Differences = slices.Concat(ofCalls, ofTransactions, ofCommits)

var ofCalls = []Difference{
	{Row: beforeRetry, Ends: "both", When: allOf(anyOf(hurries, beside), interruption(expired), sameResult)},
	// It has the context's error alone.
	{Row: beforeRetry, Ends: "both", When: allOf(sameReturn, anyOf(adds(expired+`|network`),
		allOf(ofKind(writes), adds(expired+`|network|RetryableWriteError`)),
		allOf(ofKind(committing), commits, adds(expired+`|network|RetryableWriteError|`+unknown))),
		anyOf(fork(before, unfit), attempted),
		up(fails, `^\S+ "(calculated server-side timeout .*: )?context (deadline exceeded|canceled)"$`), func(i *Instant) bool {
			_, fork, _ := strings.Cut(i.Fork.end(fails), noTime)
			_, up := i.Up.failure()
			return strings.HasSuffix(fork, up+`"`)
		})},
	// It returns the error before that of a retry.
	{Row: clearedPool, Apart: true, Ends: "up|both", When: allOf(
		anyOf(up(now, unfit), up(fails, `^(topology\.poolClearedError|\*errors\.joinError) ".*`+poolCleared)),
		ifFork(fails, poolCleared+`|`+noTime+`|connection\(`), anyOf(not(fork(returns, `.`)), notRetried),
		not(allOf(ofKind(byApplication), fork(before, `^succeeded insert`), fork(on, `^started update`))))},

	// Its getMore waits for another connection, perhaps for ever; the fork's next batch for a server. So faults meet other
	// commands, but what both return if they succeed is the same, see Strays.
	{Row: bulkResults, Apart: true, Kinds: "clientBulkWrite.*", Ends: "none", Up: `^started (bulkWrite|getMore)`,
		Fork: `^started (bulkWrite|getMore)`, When: anyOf(sameCourse, disturbed,
			allOf(has("maxPoolSize"), up(on, `^\(no connection: timeout`)))},
	// Behind a load balancer it fails, or a write concern error hides the other.
	{Row: bulkResults, Apart: true, Kinds: "clientBulkWrite.*", Ends: "up", Fork: `^started (bulkWrite|getMore)`, When: allOf(proxied,
		up(fails, `an inserted document is too large|^mongo.ClientBulkWriteException "bulk write exception: write concern e`))},
	{Row: "write concern error of a batch, none in the next", Kinds: "bulkWrite|insertMany|watch", Ends: "both",
		When: allOf(faulty(Fault{What: Concern}), adds("network|timeout|RetryableWriteError"), func(i *Instant) bool {
			const exception = "bulk write exception: "
			up, forks, _ := strings.Cut(i.Fork.end(fails), exception+"write concern error: ")
			return forks != "" && strings.HasSuffix(forks, strings.TrimPrefix(i.Up.end(fails), up+exception)) &&
				alike(i.Up[returns], i.Fork[returns], `, (an|no) error$`)
		})},
	// It has the error of one command, or one of another package, and says less of the result.
	{Row: severalCommands, Kinds: "insertMany|bulkWrite|clientBulkWrite.*", Ends: "both", When: allOf(sameCause,
		fork(fails, `^mongo\.(Bulk|ClientBulk)WriteException "bulk write exception: `),
		not(fork(is, `RetryableError|NoWritesPerformed`)))},
	// Each of its commands has the whole timeout.
	{Row: sharedTimeout, Apart: true, Kinds: "bulkWrite", Ends: "none|both", Up: seesWrite, Fork: seesWrite, But: maxTime,
		When: has("timeoutMS")},
	// It panics, or takes it for an answer.
	{Row: "malformed sizes, lengths, indexes and cursors in replies", Apart: true, Ends: "fork|both",
		Up: `^(started|failed|succeeded) `, When: allOf(
			fork(fails, `malformed reply: the cursor has no `), faulty(Fault{What: Lack, Field: "cursor"}))},
	// It lacks the event.
	{Row: "a compressor fails, or the connection is closed before the command is sent", Ends: "none|both",
		Fork: `^failed \w+ at once: topology\.ConnectionError "connection\(<closed>\) connection is closed" $`,
		When: func(i *Instant) bool { return len(i.Up[only]) == 0 && len(i.Fork[only]) == 1 && len(i.Fork[rest]) == 1 }},
}

var (
	// commits is a transaction of which all but the commit has succeeded, so that what ends with an error is that.
	commits = anyOf(ofKind("commitAgain"), allOf(not(ofKind("abortedTransaction")), fork(before, `^succeeded update`)))

	// notRetried is why the fork had to return that the pool was cleared: in a transaction, without time, after the one retry of a
	// write, or as it is not acknowledged.
	notRetried = anyOf(allOf(hurries, fork(is, expired)),
		allOf(ofKind(transactions), anyOf(allOf(fork(is, transient), not(commits)), allOf(fork(is, unknown), commits))),
		allOf(ofKind(writes), fork(is, `RetryableWriteError`), anyOf(has("w=0"), twice(soFar, unfit+`|^failed `))))
)

// disturbed are faults that may meet the commands of a client bulk write.
var disturbed = anyOf(faulty(Fault{On: "bulkWrite"}), faulty(Fault{On: "getMore"}), faulty(Fault{What: StepDown}))

// beside is what a monitor calls, or what ends a transaction once more.
func beside(i *Instant) bool { return i.Call.ID >= monitors }

// attempted is a command that has failed with the call's error.
func attempted(i *Instant) bool {
	_, text := i.Fork.failure()
	text, _, _ = strings.Cut(strings.TrimSpace(text), noTime) // a command's error has a space where it has no name
	return text != "" && some(i.Fork[soFar], `^failed \w+( at once)?: .*" ?(.*: )?`+regexp.QuoteMeta(text)+`"`)
}
