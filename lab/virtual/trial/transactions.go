package trial

import (
	"strings"
	"time"
)

// transactionsAtMost is how long WithTransaction begins transactions again.
const transactionsAtMost = 120 * time.Second

// ofTransactions are the differences of transactions, but for their commits.
var ofTransactions = []Difference{
	// It retries a command of a transaction that was in the wait queue.
	{Row: clearedPool, Apart: true, Kinds: transactions, Ends: "none", Up: `^(started|\S+ sees) (insert|update)`, Fork: aborts,
		When: allOf(anyOf(twice(before, unfit), fork(before, `^succeeded insert`)), fork(on, aborts+`|^error .*`+poolCleared))},
	// It begins at once.
	{Row: between, Apart: true, Kinds: within, Ends: "fork", Up: begins,
		When: allOf(limited, fork(fails, noTimeAgain+`|`+noServerAgain))},
	{Row: between, Apart: true, Kinds: within, Ends: "none", Up: begins, When: allOf(anyOf(not(up(only, aborts)), fork(on, aborts)),
		anyOf(up(before, `^started insert`), has("serverSelectionTimeoutMS")),
		anyOf(fork(on, `^started insert|^error .*(`+noTimeAgain+`)`), allOf(limited, fork(on, `^error `+noServerAgain))))},
	// It begins again without time, and has its error.
	{Row: between, Apart: true, Kinds: within, Ends: "both", Up: begins, When: allOf(same(returns), up(is, expired),
		up(fails, `calculated server-side timeout|context (deadline exceeded|canceled)`), fork(is, `(`+expired+`).*`+transient))},
	// It begins after another backoff: the newest, or the first time if no server has been found.
	{Row: between, Apart: true, Kinds: within, Ends: "none", Fork: begins, When: allOf(up(on, `^started insert`),
		anyOf(fork(before, `^started insert`), has("serverSelectionTimeoutMS")))},
	// The operation that a server sees at one time begins at another.
	{Row: between, Kinds: within, Ends: "none", Up: begins, Fork: begins, But: maxTime,
		When: func(i *Instant) bool { return count(i.Up[only], maxTime) == count(i.Fork[only], maxTime) }},
	// It begins again.
	{Row: clientLevel, Apart: true, Kinds: within, Ends: "fork", Up: begins,
		When: allOf(timedOut, fork(is, `context deadline exceeded.*`+transient))},
	{Row: withDeadline, Apart: true, Kinds: within, Ends: "fork", When: allOf(fork(is, "context deadline exceeded"),
		func(i *Instant) bool { return i.over(min(i.Call.Deadline, transactionsAtMost)) })},
	// The newest has only the client's Timeout.
	{Row: withDeadline, Apart: true, Kinds: within, Ends: "up", When: allOf(timedOut,
		up(fails, timeoutError+`|^topology.ServerSelectionError .*: context deadline`),
		func(i *Instant) bool { return i.At < i.Start+i.Call.Deadline })},

	// Its have not the client's Timeout.
	{Row: itsEnd, Kinds: within, Ends: "none", Up: endsTxn, Fork: endsTxn, But: maxTime,
		When: allOf(has("timeoutMS"), not(up(only, maxTime)))},
	// Which lets the fork's be retried more than once.
	{Row: itsEnd, Apart: true, Kinds: within, Ends: "up", Fork: endsTxn, When: allOf(has("timeoutMS"),
		fork(now, `^failed (abort|commit)Transaction`), not(up(fails, "MaxTimeMSExpired")))},
	// And ends them, also if they cannot be sent.
	{Row: itsEnd, Apart: true, Kinds: within, Ends: "none|fork", Fork: `^failed (abort|commit)Transaction.*context deadline exceeded`,
		When: allOf(timedOut, anyOf(fork(before, `^started (commit|abort)Transaction`), allOf(fork(returns, `.`), sameLater)))},
	// Or the fork's cannot be sent in time, so that its session aborts the transaction.
	{Row: itsEnd, Apart: true, Kinds: within, Ends: "none", Up: commitSent, Fork: aborts,
		When: allOf(timedOut, fork(on, `^error `+noServerAgain), not(fork(before, commitSent)))},
	// Or it begins again meanwhile.
	{Row: itsEnd, Apart: true, Kinds: within, Ends: "none", Up: `^started abortTransaction`, Fork: `^started insert`,
		When: allOf(timedOut, fork(before, `^failed (insert|update)`), fork(before, unfit), up(on, `^started insert`))},
	// And what their monitors run.
	{Row: itsEnd, Apart: true, Kinds: monitor, Ends: "fork",
		When: allOf(timedOut, has(within), fork(is, "context deadline exceeded"))},
	{Row: itsEnd, Kinds: monitor, Ends: "none", Up: countSeen, Fork: countSeen, But: maxTime,
		When: allOf(has(within), has("timeoutMS"))},
	// It has that error alone, or only the fork says that time is up.
	{Row: otherError, Kinds: within, Ends: "both", When: allOf(adds(expired),
		anyOf(up(fails, timeoutError), allOf(limited, same(returns))), func(i *Instant) bool {
			up := re(`^mongo\.timeoutError "operation timed out: |^\S+ "|"$`).ReplaceAllString(i.Up.end(fails), "")
			return strings.HasPrefix(i.Fork.end(fails), `backpressure.Interruption "`+up+": no time to try the transaction ")
		})},
	// The newest says it of any error.
	{Row: otherError, Kinds: within, Ends: "both", But: `^error \S+ "(operation timed out: )?|^is (timeout(, )?)?`,
		When: up(fails, timeoutError)},

	// It stays pinned, and so needs no other connection.
	{Row: abortAgain, Apart: true, Kinds: transactions, Ends: "none|fork", Up: aborts,
		Fork: aborts + `|^failed abortT\S+ at once: .* network`, When: allOf(anyOf(twoRouters, proxied), fork(before, aborts),
			anyOf(fork(on, aborts), allOf(hurries, fork(on, `^\(no connection: timeout`))), func(i *Instant) bool {
				seen := func(s Side) string {
					const differs = `^\S+|` + maxTime + `|` + writeConcern + `|, \$clusterTime: \{[^}]*\}+`
					return re(differs).ReplaceAllString(find(s[on], ` sees abortTransaction`), "")
				}
				return seen(i.Fork) == "" || seen(i.Up) == "" || seen(i.Up) == seen(i.Fork)
			})},
	// After a commit that was never sent, its abort has a commit's label.
	{Row: abortAgain, Kinds: transactions, Ends: "none|both", Up: `^failed abort.*` + unknown + `$`,
		Fork: `^failed abort.*` + transient + `$`, But: `(` + unknown + `|` + transient + `)$`},
	// And its write concern, if it is sent again.
	{Row: abortAgain, Kinds: transactions, Ends: "none", Up: ` sees abortTransaction: .*` + majority, Fork: ` sees abortTransaction: `,
		But: writeConcern},
	// It forgets that the command begins the transaction.
	{Row: reauthentication, Apart: true, Ends: "none", Up: ` sees insert: `, Fork: ` sees insert: .*, startTransaction: true`,
		But: `, startTransaction: true|, readConcern: \{[^}]*\}+`, When: reauthenticates},
}

// ofCommits are those of commits.
var ofCommits = []Difference{
	// It commits again at once.
	{Row: "a commit of unknown result by `WithTransaction`", Apart: true, Kinds: within, Ends: "none|fork", Up: endsTxn,
		When: allOf(resultUnknown, sameConcern, anyOf(fork(on, `^started commitTransaction`),
			// or ends so, be it after another commit
			allOf(limited, fork(on, `^error .*(`+noTimeAgain+`|`+noTime+`)`), fork(on, `^is .*`+unknown))))},
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
	// Its has another one than the first, which was never sent, if the command of a monitor was sent again meanwhile.
	{Row: wasSent, Kinds: "commitAgain", Ends: "none", Up: commitSeen + `.*` + majority, Fork: commitSeen, But: writeConcern,
		When: allOf(not(fork(only, majority)), func(i *Instant) bool { return i.Plan.Monitor.Asks > 0 })},
	// It returns it without a label if no server is found for the next commit, or later.
	{Row: wasSent, Apart: true, Kinds: committing, Ends: "up|fork|both", When: allOf(concerned, ifUp(fails, noServer),
		ifFork(is, unknown), anyOf(up(returns, `.`), hurries, not(up(on, ` no error$`))))},
	// It ends, or begins again, where the fork commits again.
	{Row: thatError, Apart: true, Kinds: within, Ends: "none|up", Up: begins, Fork: `^started commitTransaction`, When: allOf(
		anyOf(ifUp(fails, `^`+unsent),
			allOf(up(is, `RetryableWriteError`), up(before, `^failed commitTransaction.*RetryableWriteError`))),
		not(up(is, unknown)), anyOf(fork(before, `^started commitTransaction`), allOf(up(on, `^error topology\.ServerSelectionError `),
			fork(before, `^succeeded update`), fork(on, `^started commit`))), func(i *Instant) bool {
			failed := matching(i.Fork[soFar], `^failed commitTransaction`)
			return len(failed) == 0 || !strings.Contains(failed[len(failed)-1], transient)
		})},
	{Row: thatError, Kinds: committing, Ends: "both", When: allOf(adds(unknown), sameText, sameResult,
		anyOf(not(ofKind(within)), commits), not(up(is, transient)), anyOf(up(fails, `^`+unsent), allOf(up(is, "RetryableWriteError"),
			either(`^failed commitTransaction`))))},
	// And that there was no time for it.
	{Row: thatError, Kinds: committing, Ends: "both", When: allOf(interruption(expired+`|`+unknown), not(up(is, transient)),
		same(returns), fork(before, `^failed commitTransaction`))},
	// It stays pinned, and so needs no other connection.
	{Row: unpinned, Apart: true, Kinds: transactions, Ends: "none", Up: commitSent, Fork: commitSent, When: allOf(
		anyOf(twoRouters, proxied), sameConcern, anyOf(resultUnknown, ofKind("commitAgain")), fork(on, commitSent))},
	// And the next call that connection, which the fork closes once it has been idle.
	{Row: unpinned, Apart: true, Ends: "none", Up: `^started `,
		When: allOf(proxied, has("maxIdleTimeMS"), faulty(Fault{On: "commitTransaction"}), shifted)},
	{Row: clientLevel, Apart: true, Kinds: within, Ends: "none", Up: commitSeen + `.*` + majority + `,"wtimeout"`,
		Fork: commitSeen + `.*writeConcern: \{` + majority + `\}.* maxTimeMS: `, When: has("timeoutMS")},
}

// limited is whether WithTransaction may have no time.
func limited(i *Instant) bool { return hurries(i) || i.At+time.Second >= i.Start+transactionsAtMost }

// resultUnknown is a commit that has ended, and of which it is not known whether it took place.
var resultUnknown = anyOf(either(`^failed commitTransaction`), allOf(either(`^succeeded commitTransaction`), concerned))

// sameConcern is whether the fork's next commit is for the majority if upstream's is.
func sameConcern(i *Instant) bool {
	up, fork := find(i.Up[on], commitSeen), find(i.Fork[on], commitSeen)
	return fork == "" || !strings.Contains(up, majority) || strings.Contains(fork, majority)
}
