package trial

import (
	"slices"
	"strings"
	"time"
)

// transactionsAtMost is how long WithTransaction begins transactions again.
const transactionsAtMost = 120 * time.Second

// ofTransactions are the differences of transactions, but for their commits.
var ofTransactions = []Difference{
	// It retries a command of a transaction that was in the wait queue.
	{Row: clearedPool, Apart: true, Kinds: transactions, Ends: "none", Up: `^(started|\S+ sees) (insert|update)`, Fork: aborts,
		When: func(i *Instant) bool {
			return (count(i.Fork.Before, unfit) > 1 || some(i.Fork.Before, `^succeeded insert`)) &&
				(some(i.Fork.On, aborts) || some(i.Fork.On, `^error .*`+poolCleared))
		}},
	// It begins at once.
	{Row: between, Apart: true, Kinds: within, Ends: "none|fork", Up: begins, When: func(i *Instant) bool {
		return i.Fork.says("error", noTimeAgain+`|^mongo\.CommandError " ?server selection error: context deadline`) && i.limited() ||
			!i.Fork.ends() && (!some(i.Up.Only, aborts) || some(i.Fork.On, aborts)) &&
				(some(i.Up.Before, `^started insert`) || i.Plan.Has("serverSelectionTimeoutMS")) &&
				some(i.Fork.On, `^started insert|^error .*(`+noTimeAgain+`)`)
	}},
	// It begins again without time, and has its error.
	{Row: between, Apart: true, Kinds: within, Ends: "both", Up: begins, When: func(i *Instant) bool {
		return i.Up.end("returns") == i.Fork.end("returns") && i.Up.says("is", expired) &&
			i.Up.says("error", `calculated server-side timeout|context (deadline exceeded|canceled)`) &&
			i.Fork.says("is", `(`+expired+`).*`+transient)
	}},
	// It begins after another backoff: the newest, or the first time if no server has been found.
	{Row: between, Apart: true, Kinds: within, Ends: "none", Fork: begins, When: func(i *Instant) bool {
		return some(i.Up.On, `^started insert`) &&
			(some(i.Fork.Before, `^started insert`) || i.Plan.Has("serverSelectionTimeoutMS"))
	}},
	// The operation that a server sees at one time begins at another.
	{Row: between, Kinds: within, Ends: "none", Up: begins, Fork: begins, But: maxTime, When: func(i *Instant) bool {
		return count(i.Up.Only, maxTime) == count(i.Fork.Only, maxTime)
	}},
	// It begins again.
	{Row: clientLevel, Apart: true, Kinds: within, Ends: "fork", Up: begins, When: func(i *Instant) bool {
		return i.overTime() && i.Fork.says("is", `context deadline exceeded.*`+transient)
	}},
	{Row: "`WithTransaction`, context with a deadline", Apart: true, Kinds: within, Ends: "fork", When: func(i *Instant) bool {
		return i.Call.Deadline > 0 && i.At >= (i.Start+min(i.Call.Deadline, transactionsAtMost)).Truncate(time.Microsecond) &&
			i.Fork.says("is", "context deadline exceeded")
	}},
	// The newest has only the client's Timeout.
	{Row: "`WithTransaction`, context with a deadline", Apart: true, Kinds: within, Ends: "up", When: func(i *Instant) bool {
		return i.Plan.timeout() > 0 && i.At >= (i.Start+i.Plan.timeout()).Truncate(time.Microsecond) &&
			i.At < i.Start+i.Call.Deadline && i.Up.says("error", `^mongo\.timeoutError "operation timed out: `)
	}},

	// Its have not the client's Timeout.
	{Row: itsEnd, Kinds: within, Ends: "none", Up: endsTxn, Fork: endsTxn, But: maxTime, When: func(i *Instant) bool {
		return i.Plan.timeout() > 0 && !some(i.Up.Only, maxTime)
	}},
	// Which lets the fork's be retried more than once.
	{Row: itsEnd, Apart: true, Kinds: within, Ends: "up", Fork: endsTxn, When: func(i *Instant) bool {
		return i.Plan.timeout() > 0 && some(i.Fork.All, `^failed (abort|commit)Transaction`) &&
			!i.Up.says("error", "MaxTimeMSExpired")
	}},
	// And ends them.
	{Row: itsEnd, Apart: true, Kinds: within, Ends: "none|fork", Fork: `^failed (abort|commit)Transaction.*context deadline exceeded`,
		When: func(i *Instant) bool {
			return i.overTime() && some(i.Fork.Before, `^started (commit|abort)Transaction`)
		}},
	// Also if they cannot be sent.
	{Row: itsEnd, Apart: true, Kinds: within, Ends: "fork", When: func(i *Instant) bool {
		return i.overTime() && !i.Up.ends() && i.Fork.end("error") == endOf(i.Up.On, "error")
	}},
	// And what their monitors run.
	{Row: itsEnd, Apart: true, Kinds: monitor, Ends: "fork", When: func(i *Instant) bool {
		return i.overTime() && i.Plan.Has(within) && i.Fork.says("is", "context deadline exceeded")
	}},
	// It has that error alone.
	{Row: otherError, Kinds: within, Ends: "both", When: func(i *Instant) bool {
		_, up, _ := strings.Cut(strings.TrimSuffix(i.Up.end("error"), `"`), ` "`)
		return (i.hurries() || i.At >= i.Start+transactionsAtMost) && i.adds(expired) &&
			i.Up.end("returns") == i.Fork.end("returns") &&
			strings.HasPrefix(i.Fork.end("error"), `backpressure.Interruption "`+up+`: no time to try the transaction again: `)
	}},
	// Only the fork says it.
	{Row: otherError, Kinds: within, Ends: "both", When: func(i *Instant) bool {
		_, up, isTimeout := strings.Cut(strings.TrimSuffix(i.Up.end("error"), `"`), `mongo.timeoutError "operation timed out: `)
		return isTimeout && i.adds(expired) &&
			strings.HasPrefix(i.Fork.end("error"), `backpressure.Interruption "`+up+": no time to try the transaction again: ")
	}},
	// The newest says it of any error.
	{Row: otherError, Kinds: within, Ends: "both", But: `^error \S+ "(operation timed out: )?|^is (timeout(, )?)?`,
		When: func(i *Instant) bool { return i.Up.says("error", `^mongo\.timeoutError "operation timed out: `) }},

	// It stays pinned, and so needs no other connection.
	{Row: abortAgain, Apart: true, Kinds: transactions, Ends: "none|fork", Up: aborts,
		Fork: aborts + `|^failed abortT\S+ at once: .* network`,
		When: func(i *Instant) bool {
			seen := func(s Side) string {
				abort := first(s.On, ` sees abortTransaction`)
				return re(`^\S+|`+maxTime+`|`+writeConcern+`|, \$clusterTime: \{[^}]*\}+`).ReplaceAllString(abort, "")
			}
			return i.routed() && some(i.Fork.Before, aborts) &&
				(seen(i.Fork) == "" || seen(i.Up) == "" || seen(i.Up) == seen(i.Fork)) &&
				(some(i.Fork.On, aborts) || i.hurries() && some(i.Fork.On, `^\(no connection: timeout`))
		}},
	// After a commit that was never sent, its abort has a commit's label.
	{Row: abortAgain, Kinds: transactions, Ends: "none|both", Up: `^failed abort.*` + unknown + `$`,
		Fork: `^failed abort.*` + transient + `$`,
		But:  `(` + unknown + `|` + transient + `)$`},
	// And its write concern, if it is sent again.
	{Row: abortAgain, Kinds: transactions, Ends: "none", Up: ` sees abortTransaction: .*` + majority, Fork: ` sees abortTransaction: `,
		But: writeConcern},
	// It forgets that the command begins the transaction.
	{Row: "reauthentication (code 391)", Apart: true, Kinds: anyCall, Ends: "none", Up: ` sees insert: `,
		Fork: ` sees insert: .*, startTransaction: true`,
		But:  `, startTransaction: true|, readConcern: \{[^}]*\}+`,
		When: func(i *Instant) bool { return i.reauthenticates() }},
}

// ofCommits are those of commits.
var ofCommits = []Difference{
	// It commits again at once.
	{Row: "a commit of unknown result by `WithTransaction`", Apart: true, Kinds: within, Ends: "none|fork", Up: endsTxn,
		When: func(i *Instant) bool {
			late := some(i.Fork.On, `^error .*(`+noTimeAgain+`)`) && some(i.Fork.On, `^is .*`+unknown) // be it after another commit
			return i.unknown() && i.sameConcern() && (late && i.limited() || some(i.Fork.On, `^started commitTransaction`))
		}},
	{Row: "a commit's result is unknown", Apart: true, Kinds: "transaction|commitAgain", Ends: "none", Up: endsTxn,
		When: func(i *Instant) bool {
			return i.unknown() && i.sameConcern() && (some(i.Fork.On, `^started commitTransaction`) ||
				some(i.Fork.On, `^error `+unsent) && some(i.Fork.On, `^is .*`+unknown))
		}},
	// It aborts it, by EndSession or because the application says so.
	{Row: wasSent, Apart: true, Kinds: committing, Ends: "fork|both", Up: `^succeeded abort|` + aborts, When: func(i *Instant) bool {
		return i.Fork.says("is", `^timeout.*`+unknown) &&
			(some(i.Up.On, aborts) || (i.Call.Again == "abort" || some(i.Up.On, `^\(no connection: timeout`)) &&
				endOf(i.Up.On, "error") == i.Fork.end("error"))
	}},
	{Row: wasSent, Apart: true, Kinds: "abortAgain", Ends: "fork", Up: aborts, When: func(i *Instant) bool {
		return i.Fork.says("error", "after calling commitTransaction")
	}},
	// Its next commit has the old write concern.
	{Row: wasSent, Kinds: committing, Ends: "none", Up: commitSeen, Fork: commitSeen, But: writeConcern, When: func(i *Instant) bool {
		return !some(i.Up.Only, majority) && every(i.Fork.Only, majority)
	}},
	// Which the command of a monitor, with the transaction's session, shows as well.
	{Row: wasSent, Kinds: monitor, Ends: "none", Up: countSeen, Fork: countSeen,
		But: maxTime + `|` + writeConcern + `|, readConcern: \{"afterClusterTime": \{"\$timestamp":\{[^}]*\}\}\}`,
		When: func(i *Instant) bool {
			return i.Plan.faulty(func(f Fault) bool { return f.On == "commitTransaction" || f.On == "count" })
		}},
	// Its has another one than the first, which was never sent, if the command of a monitor was sent again meanwhile.
	{Row: wasSent, Kinds: "commitAgain", Ends: "none", Up: commitSeen + `.*` + majority, Fork: commitSeen, But: writeConcern,
		When: func(i *Instant) bool { return i.Plan.Monitor.Asks > 0 && !some(i.Fork.Only, majority) }},
	// It returns it without a label if no server is found for the next commit, or later.
	{Row: wasSent, Apart: true, Kinds: committing, Ends: "up|fork|both", When: func(i *Instant) bool {
		return i.Plan.failsConcern("commitTransaction") && (!i.Up.ends() || i.Up.says("error", noServer)) &&
			(!i.Fork.ends() || i.Fork.says("is", unknown)) && (i.Up.ends() || i.hurries() || !some(i.Up.On, ` no error$`))
	}},
	// It ends, or begins again, where the fork commits again.
	{Row: thatError, Apart: true, Kinds: within, Ends: "none|up", Up: begins, Fork: `^started commitTransaction`,
		When: func(i *Instant) bool {
			retried := i.Up.says("is", `RetryableWriteError`) && some(i.Up.Before,
				`^failed commitTransaction.*RetryableWriteError`)
			return (!i.Up.ends() || (i.Up.says("error", `^`+unsent) || retried) && !i.Up.says("is", unknown)) &&
				(some(i.Fork.Before, `^started commitTransaction`) ||
					i.Up.says("error", `^topology\.ServerSelectionError `) &&
						some(i.Fork.Before, `^succeeded update`) && some(i.Fork.On, `^started commit`)) &&
				!strings.Contains(last(i.Fork.soFar(), `^failed commitTransaction`), transient)
		}},
	{Row: thatError, Kinds: "transaction|commitAgain", Ends: "both", When: func(i *Instant) bool {
		return i.adds(unknown) && i.sameText() && i.sameResult() &&
			(i.Up.says("error", `^`+unsent) || some(i.both(), `^failed commitTransaction`) &&
				i.Up.says("is", "RetryableWriteError")) &&
			!i.Up.says("is", transient)
	}},
	// And that there was no time for it.
	{Row: thatError, Kinds: committing, Ends: "both", When: func(i *Instant) bool {
		return i.interrupted(expired+`|`+unknown) && !i.Up.says("is", transient) && i.Up.end("returns") == i.Fork.end("returns") &&
			some(i.Fork.Before, `^failed commitTransaction`)
	}},
	// It stays pinned, and so needs no other connection.
	{Row: unpinned, Apart: true, Kinds: transactions, Ends: "none", Up: commits, Fork: commits, When: func(i *Instant) bool {
		return i.routed() && i.sameConcern() && (i.unknown() || i.Call.Kind == "commitAgain") && some(i.Fork.On, commits)
	}},
	// And the next call that connection, which the fork closes once it has been idle.
	{Row: unpinned, Apart: true, Kinds: anyCall, Ends: "none", Up: `^started `, When: func(i *Instant) bool {
		return i.Plan.Proxied() && i.Plan.Has("maxIdleTimeMS") &&
			i.Plan.faulty(func(f Fault) bool { return f.On == "commitTransaction" }) &&
			slices.Contains(i.Fork.On, i.Up.Only[0])
	}},
	{Row: clientLevel, Apart: true, Kinds: within, Ends: "none", Up: commitSeen + `.*` + majority + `,"wtimeout"`,
		Fork: commitSeen + `.*writeConcern: \{` + majority + `\}.* maxTimeMS: `,
		When: func(i *Instant) bool { return i.Plan.timeout() > 0 }},
}

// sameConcern reports whether the fork's next commit is for the majority if upstream's is.
func (i *Instant) sameConcern() bool {
	up, fork := first(i.Up.On, commitSeen), first(i.Fork.On, commitSeen)
	return fork == "" || !strings.Contains(up, majority) || strings.Contains(fork, majority)
}

// limited reports whether WithTransaction may have no time.
func (i *Instant) limited() bool {
	return i.hurries() || i.At+time.Second >= i.Start+transactionsAtMost
}

// unknown reports whether a commit has ended of which it is not known whether it took place.
func (i *Instant) unknown() bool {
	return some(i.both(), `^failed commitTransaction`) ||
		some(i.both(), `^succeeded commitTransaction`) && i.Plan.failsConcern("commitTransaction")
}

// routed reports whether a transaction that is not pinned may go on elsewhere.
func (i *Instant) routed() bool { return i.Plan.Topology == "sharded:2" || i.Plan.Proxied() }

// overTime reports whether the client's Timeout may be over.
func (i *Instant) overTime() bool {
	return i.Plan.timeout() > 0 && i.At >= (i.Start+i.Plan.timeout()).Truncate(time.Microsecond)
}
