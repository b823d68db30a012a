package trial

import "strings"

// ofTransactions are the differences of transactions, but for their commits.
var ofTransactions = []Difference{
	// It retries a command of a transaction that was in the wait queue.
	{Row: clearedPool, Apart: true, Kinds: transactions, Ends: "none", Up: `^(started|\S+ sees) (insert|update)`, Fork: aborts,
		When: allOf(anyOf(twice(before, unfit), fork(before, `^succeeded insert`)), fork(on, aborts+`|^error .*`+poolCleared))},
	// It begins at once.
	{Row: "`WithTransaction`, between transactions", Apart: true, Kinds: within, Ends: "none", Up: begins, When: allOf(
		anyOf(not(up(only, aborts)), fork(on, aborts)), up(before, `^started insert`), fork(on, `^started insert`))},
	// After a commit that was never sent, its abort has a commit's label, and, if it is sent again, its write concern.
	{Row: "retried abortTransaction", Kinds: transactions, Ends: "none|both",
		But:  `(` + unknown + `|` + transient + `)$|` + writeConcern,
		Up:   `^failed abort.*` + unknown + `$| sees abortTransaction: .*` + majority,
		Fork: `^failed abort.*` + transient + `$| sees abortTransaction: `},
	// Behind a load balancer it keeps its connection, and the fork waits for another one.
	{Row: "retried abortTransaction", Apart: true, Kinds: transactions, Ends: "none", Up: aborts, Fork: aborts,
		When: allOf(proxied, fork(before, aborts), fork(on, aborts))},
	// It forgets that the command begins the transaction.
	{Row: "reauthentication (code 391)", Apart: true, Ends: "none", Up: ` sees insert: `, When: reauthenticates,
		Fork: ` sees insert: .*, startTransaction: true`, But: `, startTransaction: true|, readConcern: \{[^}]*\}+`},
}

// ofCommits are those of commits.
var ofCommits = []Difference{
	// It commits again at once.
	{Row: "a commit of unknown result by `WithTransaction`", Apart: true, Kinds: within, Ends: "none", Up: endsTxn,
		When: allOf(resultUnknown, sameConcern, fork(on, `^started commitTransaction`))},
	{Row: "a commit's result is unknown", Apart: true, Kinds: "transaction|commitAgain", Ends: "none", Up: endsTxn,
		When: allOf(resultUnknown, sameConcern, anyOf(fork(on, `^started commitTransaction`),
			allOf(fork(on, `^error `+unsent), fork(on, `^is .*`+unknown))))},
	// It aborts it, by EndSession or because the application says so.
	{Row: wasSent, Apart: true, Kinds: committing, Ends: "fork|both", Up: `^succeeded abort|` + aborts, When: allOf(
		fork(is, `^timeout.*`+unknown), anyOf(up(on, aborts), allOf(sameLater,
			anyOf(up(on, `^\(no connection: timeout`), func(i *Instant) bool { return i.Call.Again == "abort" }))))},
	{Row: wasSent, Apart: true, Kinds: "abortAgain", Ends: "fork", Up: aborts, When: fork(fails, "after calling commitTransaction")},
	// Its next commit has the old write concern.
	{Row: wasSent, Kinds: committing, Ends: "none", Up: commitSeen, Fork: commitSeen + `.*` + majority, But: writeConcern,
		When: not(up(only, majority))},
	// Which the command of a monitor, with the transaction's session, shows as well.
	{Row: wasSent, Kinds: monitor, Ends: "none", Up: countSeen, Fork: countSeen,
		But:  maxTime + `|` + writeConcern + `|, readConcern: \{"afterClusterTime": \{"\$timestamp":\{[^}]*\}\}\}`,
		When: anyOf(faulty(Fault{On: "commitTransaction"}), faulty(Fault{On: "count"}))},
	// It returns it without a label if no server is found for the next commit, or later.
	{Row: wasSent, Apart: true, Kinds: committing, Ends: "up|fork|both", When: allOf(concerned, ifUp(fails, noServer),
		ifFork(is, unknown), anyOf(up(returns, `.`), hurries, not(up(on, ` no error$`))))},
	{Row: thatError, Kinds: committing, Ends: "both", When: allOf(adds(unknown), sameText, sameResult, commits, not(up(is, transient)),
		anyOf(up(fails, `^`+unsent), allOf(up(is, "RetryableWriteError"), either(`^failed commitTransaction`))))},
	// And that there was no time for it.
	{Row: thatError, Kinds: committing, Ends: "both", When: allOf(interruption(expired+`|`+unknown), not(up(is, transient)),
		sameReturn, fork(before, `^failed commitTransaction`))},
	// It stays pinned, and so needs no other connection.
	{Row: "a transaction finds no server; a commit's result is unknown", Apart: true, Kinds: transactions, Ends: "none", Up: commitSent,
		Fork: commitSent, When: allOf(proxied, sameConcern, anyOf(resultUnknown, ofKind("commitAgain")), fork(on, commitSent))},
}

// resultUnknown is a commit that has ended, and of which it is not known whether it took place.
var resultUnknown = anyOf(either(`^failed commitTransaction`), allOf(either(`^succeeded commitTransaction`), concerned))

// sameConcern is whether the fork's next commit is for the majority if upstream's is.
func sameConcern(i *Instant) bool {
	up, fork := find(i.Up[on], commitSeen), find(i.Fork[on], commitSeen)
	return fork == "" || !strings.Contains(up, majority) || strings.Contains(fork, majority)
}
