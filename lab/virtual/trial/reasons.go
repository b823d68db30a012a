package trial

import (
	"slices"
	"strconv"
	"strings"
)

const (
	noTime      = ": no time for a retry: "
	inBackoff   = ": interrupted during the backoff before a retry: "
	noTimeAgain = `: no time to try the transaction again: |: interrupted before another attempt: `
	// expired is what a timeout, or a cancellation, adds to an error.
	expired   = `context deadline exceeded|context canceled|timeout`
	transient = `TransientTransactionError`
	unknown   = `UnknownTransactionCommitResult`
	labels    = `SystemOverloadedError, RetryableError`
	noServer  = `^driver\.WriteCommandError "write command error: \[\{write errors: \[\]\}, \{`

	poolCleared = ` was cleared because another operation failed with: `
	handshake   = `during connection handshake`
	// unfit is an attempt that gets no connection because the pool was cleared, unmade one because none is established.
	unfit  = `^\(no connection: .*` + poolCleared
	unmade = `^\(no connection: .*` + handshake
	// unsent are the errors of attempts that got no connection, or no server.
	unsent = `\S+ " ?(connection pool for \S+` + poolCleared + `|server selection error: |` +
		`connection\(\S*\) [^"(]*during connection handshake|[^"(]*checking out a connection)`
	// found is a server that is found again, down one that upstream gives up.
	found = `^(server \S+: Unknown to|topology: )`
	down  = `^(server \S+: \w+ to Unknown|topology: )`

	commits      = `^(started|\S+ sees) commitTransaction`
	aborts       = `^(started|\S+ sees) abortTransaction`
	endsTxn      = `^(started|\S+ sees|succeeded|failed) (commit|abort)Transaction`
	begins       = `^(started (insert|abortTransaction)|\S+ sees insert: .*startTransaction: true|failed insert at once: .*context)`
	commitSeen   = `^\S+ sees commitTransaction: `
	countSeen    = `^\S+ sees count: `
	majority     = `"w": "majority"`
	maxTime      = `, maxTimeMS: \{"\$numberLong":"\d+"\}`
	writeConcern = `, writeConcern: \{("w": ("majority"|\{[^}]*\})|,|"wtimeout": \{[^}]*\})*\}`

	anyCall      = `.+`
	within       = `withTransaction`
	committing   = `transaction|withTransaction|commitAgain`
	transactions = committing + `|abortedTransaction|abortAgain`
	writes       = `(insert|update|replace|delete|findOneAnd|bulkWrite|clientBulkWrite).*`

	beforeRetry  = "the deadline passes, or the context is cancelled, before a retry is sent"
	manyWrites   = "an interrupted write of many documents"
	establishing = "network error while a connection is established"
	clearedPool  = "pool cleared before the command asked for a connection"
	inTxn        = "that error, or one while a connection is established, in a transaction"
	between      = "`WithTransaction`, between transactions"
	itsEnd       = "commit and abort by `WithTransaction`"
	otherError   = "`WithTransaction`, time is up after another error"
	wasSent      = "a commit of unknown result that was sent"
	unpinned     = "a transaction finds no server; a commit's result is unknown"
	thatError    = "that error of a commit; a commit that finds no server"
	abortAgain   = "retried abortTransaction"
	bulkResults  = "client bulk write, reading its results with getMore"
	clientLevel  = "`WithTransaction`, client-level timeout without a deadline"
)

// Differences are all of them. A comment says what upstream does.
var Differences = slices.Concat(ofCalls, ofTransactions, ofCommits)

var ofCalls = []Difference{
	{Row: beforeRetry, Kinds: anyCall, Ends: "both", When: func(i *Instant) bool {
		return (i.hurries() || i.Call.ID >= monitors) && i.interrupted(expired) && i.sameResult()
	}},
	// It has the context's error alone.
	{Row: beforeRetry, Kinds: anyCall, Ends: "both", When: func(i *Instant) bool {
		_, up, _ := strings.Cut(i.Up.end("error"), ` "`)
		_, fork, _ := strings.Cut(i.Fork.end("error"), noTime)
		return strings.HasSuffix(fork, up) && i.Up.says("error",
			`^\S+ "(calculated server-side timeout .*: )?context (deadline exceeded|canceled)"$`) &&
			i.adds(`network|`+i.labels()) &&
			i.Up.end("returns") == i.Fork.end("returns") && (some(i.Fork.Before, unfit) || i.Fork.attempted())
	}},
	// Its retries are lost with their result.
	{Row: manyWrites, Kinds: "insertMany|bulkWrite", Ends: "both", When: func(i *Instant) bool {
		return i.hurries() && i.Up.says("returns", `Acknowledged:false|^<nil>`) && i.Fork.says("returns", `Acknowledged:true`) &&
			i.Fork.says("error", noTime) && i.adds(expired+"|network|RetryableWriteError")
	}},
	// Its error has not the label of the attempt before.
	{Row: manyWrites, Kinds: "bulkWrite", Ends: "both", When: func(i *Instant) bool {
		return i.hurries() && i.interrupted(expired+"|RetryableWriteError") && i.sameResult()
	}},
	// Its indexes are those of the batch.
	{Row: manyWrites, Kinds: "insertMany|bulkWrite", Ends: "both", When: func(i *Instant) bool {
		detail := func(s Side) string { return re(`\d+ (\d+ of )|: \d+`).ReplaceAllString(s.end("detail"), "$1") }
		ids := func(s Side) string { return re(`InsertedIDs:\[[^]]*\]`).FindString(s.end("returns")) }
		result := func(s Side) string { return strings.Replace(s.end("returns"), ids(s), "", 1) }
		index := func(s Side) (n int) {
			for _, one := range re(`(\d+) \d+ of `).FindAllStringSubmatch(s.end("detail"), -1) {
				more, _ := strconv.Atoi(one[1])
				n += more
			}
			return n
		}
		return i.hurries() && i.interrupted(expired) && result(i.Up) == result(i.Fork) && detail(i.Up) == detail(i.Fork) &&
			index(i.Up) <= index(i.Fork) && len(ids(i.Up)) <= len(ids(i.Fork)) // so it takes some IDs for those that failed
	}},
	// It has an error of another package.
	{Row: manyWrites, Kinds: "clientBulkWrite.*", Ends: "both", When: func(i *Instant) bool {
		return i.hurries() && i.sameResult() && i.Up.says("error", noServer) && i.Fork.says("is", expired) &&
			i.Fork.says("is", `^((timeout|context deadline exceeded|context canceled|network|RetryableWriteError)(, |$))+$`) &&
			i.Fork.says("error", `^backpressure\.Interruption "bulk write exception: write concern errors: \[.*`+noTime)
	}},
	// It starts a command without time, and has its error.
	{Row: beforeRetry, Apart: true, Kinds: "watch", Ends: "both", Up: `^(started aggregate|failed aggregate at once: .*context )`,
		When: func(i *Instant) bool {
			return i.sameResult() && i.Up.says("is", expired) && i.Fork.says("is", expired) &&
				!i.Fork.says("error", `^\*errors\.errorString |^context\.`)
		}},
	{Row: "no server or connection for a retry", Kinds: "watch", Ends: "both", When: func(i *Instant) bool {
		return i.sameResult() && i.Up.says("error", `^topology\.(ServerSelection|poolCleared)Error`) && i.Fork.says("error",
			`^mongo\.CommandError`) && i.Fork.failed("aggregate")
	}},
	// It retries, or waits for a server to do so until its time is up.
	{Row: "change streams, `retryReads=false` under a timeout", Apart: true, Kinds: "watch", Ends: "fork", Up: `^started aggregate`,
		When: func(i *Instant) bool {
			return i.Plan.Has("retryReads=false") && i.hurries() && (i.Fork.failed("aggregate") ||
				i.Fork.says("error", `^`+unsent)) &&
				some(i.Up.On, `^(started aggregate|is (`+expired+`))`)
		}},
	// It avoids the last router only, and so takes turns, a change stream none.
	{Row: "deprioritized servers", Apart: true, Kinds: anyCall, Ends: "none", Up: ` sees `, Fork: ` sees `,
		When: func(i *Instant) bool {
			return i.elsewhere() && i.failures() > i.avoided() &&
				!some(i.Up.Only, ` sees (getMore|killCursors|(commit|abort)T)`) &&
				(!some(i.Up.Only, `autocommit: false`) || some(i.Up.Only, `startTransaction: true`))
		}},

	// So another command begins later with the fork, which needs a connection.
	{Row: "deprioritized servers", Apart: true, Kinds: anyCall, Ends: "none", Up: `^started `, When: func(i *Instant) bool {
		return i.Plan.Topology == "sharded:2" && i.failures() > i.avoided() && slices.Contains(i.Fork.On, i.Up.Only[0])
	}},

	// The other one has failed meanwhile.
	{Row: "option: choice of one of two servers", Apart: true, Kinds: anyCall, Ends: "none", Up: `^started | sees `,
		Fork: `^started | sees `,
		When: func(i *Instant) bool {
			return i.Plan.Has("adaptiveThrottling=true") && (i.Plan.Topology == "sharded:2" || i.Plan.Has("readPreference")) &&
				len(i.Plan.Faults) > 0 && i.sameCourse()
		}},
	{Row: "option: the server closes the connection of a heartbeat before it is established", Apart: true, Ends: "none", Up: found,
		Fork: found, When: func(i *Instant) bool {
			return i.Plan.Has("adaptiveThrottling=true") && some(i.Fork.Before, `^fault reset$`) &&
				i.shifted()
		}},
	// It connects for minPoolSize; if that fails, it checks the server at once.
	{Row: "a new pool", Apart: true, Ends: "none", Up: found, When: func(i *Instant) bool {
		return i.Plan.Has("minPoolSize") && some(i.Up.Before, `^\(connection closed: .*`+handshake) &&
			slices.Contains(i.Fork.On, i.Up.Only[0])
	}},
	// Both fail to establish a connection; only the fork labels it, and goes on.
	{Row: establishing, Apart: true, Kinds: anyCall, Ends: "none|up|both", Up: `^(started|failed) killCursors`,
		When: func(i *Instant) bool {
			const fails = handshake + `|incomplete read of message header`
			return some(i.Up.All, unmade) && some(i.Fork.All, unmade+`.*`+labels) &&
				(!i.Up.ends() || i.Up.says("error", fails)) && (!i.Fork.ends() || i.Fork.says("error", fails) &&
				i.adds(`SystemOverloadedError|RetryableError|`+i.labels()))
		}},
	// And goes on with the next statements of a write that is not ordered.
	{Row: establishing, Apart: true, Kinds: "bulkWrite", Ends: "none", Up: `^started `, When: func(i *Instant) bool {
		return some(i.Up.Before, unmade) && some(i.Fork.Before, unmade+`.*`+labels) &&
			(!some(i.Fork.On, ` no error$`) || slices.Contains(i.Fork.On, i.Up.Only[0]))
	}},
	{Row: establishing, Apart: true, Ends: "none", Up: down, When: func(i *Instant) bool {
		const fails = `^\(connection closed: .*` + handshake
		return some(i.Up.All, fails) && some(i.Fork.All, fails+`.*`+labels)
	}},
	// The newest labels it whatever its own labels are.
	{Row: "labels for a refused hello", Apart: true, Kinds: anyCall, Ends: "none|both", When: func(i *Instant) bool {
		return i.sameText() && some(i.Up.All, unmade+`: \(InterruptedDueToOverload\).* network, `+labels+`$`) &&
			(!i.Fork.ends() || i.Fork.says("detail", `^command 473 `))
	}},
	// The newest labels it, too, and returns it, or the error before that of a retry.
	{Row: "errors of establishing a connection", Apart: true, Kinds: anyCall, Ends: "up", When: func(i *Instant) bool {
		return i.Up.says("error", `.`) && some(i.Up.All, unmade+`.* `+labels+`$`)
	}},
	{Row: inTxn, Kinds: transactions, Ends: "both", When: func(i *Instant) bool {
		return i.adds(transient) && i.sameText() && i.sameResult() && i.Up.says("error", `^`+unsent) && !i.commits()
	}},
	// It labels that of a cursor's end, too.
	{Row: inTxn, Kinds: "tailable|findClose|watch", Ends: "both", When: func(i *Instant) bool {
		return i.sameText() && i.sameResult() && i.Up.says("error", `^\*errors\.joinError .*`+poolCleared) &&
			i.Up.says("is", `^`+transient+`$`) && i.Fork.says("is", `^$`)
	}},
	// It returns the error before that of a retry.
	{Row: clearedPool, Apart: true, Kinds: anyCall, Ends: "up|both", When: func(i *Instant) bool {
		return (some(i.Up.All, unfit) || i.Up.says("error", `^(topology\.poolClearedError|\*errors\.joinError) ".*`+poolCleared)) &&
			(!i.Fork.ends() || i.notRetried() && i.Fork.says("error", poolCleared+`|`+noTime+`|connection\(`)) &&
			!(i.of(transactions) && i.Call.Kind != within &&
				some(i.Fork.Before, `^succeeded insert`) &&
				some(i.Fork.On, `^started update`))
	}},
	// It sends a client bulk write again that must not be.
	{Row: "`retryWrites=false`, client bulk write that finds the pool cleared", Apart: true, Kinds: "clientBulkWrite.*", Ends: "fork",
		When: func(i *Instant) bool {
			return i.Plan.Has("retryWrites=false") && some(i.Fork.All, unfit) &&
				i.Fork.says("error", `^topology\.poolClearedError `) &&
				some(i.Up.On, `^started bulkWrite`)
		}},
	// And so the command of a monitor, which has the transaction's session.
	{Row: clearedPool, Apart: true, Kinds: monitor, Ends: "fork", When: func(i *Instant) bool {
		return some(i.Up.On, `^started count`) && i.Fork.says("is", `^`+transient+`$`) &&
			i.Fork.says("error", `^mongo\.CommandError " ?connection pool for \S+`+poolCleared)
	}},
	{Row: "write without a connection, `retryWrites` on", Kinds: writes, Ends: "both", When: func(i *Instant) bool {
		return !i.Plan.Has("retryWrites=false") && !strings.HasSuffix(i.Call.Kind, "teMany") && i.adds("RetryableWriteError") &&
			i.sameText() && i.sameResult() &&
			i.Up.says("error", `^`+unsent) && (!i.Up.says("error", poolCleared) || i.notRetried())
	}},

	// Its getMore waits for another connection, perhaps for ever; the fork's next batch for a server. So faults meet other
	// commands, but what both return if they succeed is the same, see Strays.
	{Row: bulkResults, Apart: true, Kinds: "clientBulkWrite.*", Ends: "none", Up: `^started (bulkWrite|getMore)`,
		Fork: `^started (bulkWrite|getMore)`, When: func(i *Instant) bool {
			return i.sameCourse() || len(i.Plan.Faults) > 0 || i.hurries() && some(i.Up.On, `^is (`+expired+`)`) ||
				i.Plan.Has("maxPoolSize") && some(i.Up.On, `^\(no connection: timeout`)
		}},
	// Which it has at its end.
	{Row: bulkResults, Kinds: "clientBulkWrite.*", Ends: "both", When: func(i *Instant) bool {
		return i.hurries() && i.sameResult() && i.Up.end("is") == i.Fork.end("is") &&
			i.Up.says("error", `calculated server-side timeout`) &&
			i.Fork.says("error", `^topology\.WaitQueueTimeoutError `)
	}},
	// It sends the next batch to the same of two routers.
	{Row: bulkResults, Apart: true, Kinds: "clientBulkWrite.*", Ends: "none", Up: ` sees bulkWrite: `, When: func(i *Instant) bool {
		return i.Plan.Topology == "sharded:2" && i.sameCourse() && count(i.Fork.Before, `^started bulkWrite`) > 1
	}},
	// Behind a load balancer it fails, or a write concern error hides the other.
	{Row: bulkResults, Apart: true, Kinds: "clientBulkWrite.*", Ends: "up", Fork: `^started (bulkWrite|getMore)`,
		When: func(i *Instant) bool {
			return i.Plan.Proxied() && i.Up.says("error", `an inserted document is too large|`+
				`^mongo.ClientBulkWriteException "bulk write exception: write concern errors: `)
		}},
	{Row: "write concern error of a batch, none in the next", Kinds: "bulkWrite", Ends: "both", When: func(i *Instant) bool {
		const exception = `mongo.BulkWriteException "bulk write exception: `
		up, more := strings.CutPrefix(i.Up.end("error"), exception)
		fork, ok := strings.CutPrefix(i.Fork.end("error"), exception+"write concern error: ")
		result := func(s Side) string { return re(`, (an|no) error$`).ReplaceAllString(s.end("returns"), "") }
		return ok && (up == "" || more && strings.HasSuffix(fork, ", "+up)) && result(i.Up) == result(i.Fork) &&
			i.adds("network|timeout|RetryableWriteError")
	}},
	// It panics, or takes it for an answer.
	{Row: "malformed sizes, lengths, indexes and cursors in replies", Apart: true, Kinds: anyCall, Ends: "fork|both",
		Up: `^(started|failed|succeeded) `, When: func(i *Instant) bool {
			return i.Fork.says("error", `"malformed reply: the cursor has no `) && i.Plan.faulty(func(f Fault) bool {
				return f.What == Lack && strings.HasPrefix(f.Field, "cursor")
			})
		}},
	// Its change stream panics.
	{Row: "reauthentication (code 391)", Apart: true, Kinds: "watch", Ends: "up", Fork: `^started `, When: func(i *Instant) bool {
		return i.reauthenticates() && i.Up.says("error", `"panic: `)
	}},
	// A retry's authentication fails, and it returns that instead of the error before.
	{Row: "reauthentication (code 391)", Kinds: anyCall, Ends: "both", When: func(i *Instant) bool {
		return i.reauthenticates() && i.Up.says("error", `^\*fmt\.wrapError "error reauthenticating: `) &&
			i.Fork.says("error", `^mongo\.`) && i.Up.end("returns") == i.Fork.end("returns") &&
			count(i.Fork.soFar(), `^failed `) > 1 &&
			i.Fork.attempted()
	}},
	// It lacks the event.
	{Row: "a compressor fails, or the connection is closed before the command is sent", Kinds: anyCall, Ends: "none|both",
		Fork: `^failed \w+ at once: topology\.ConnectionError "connection\(<closed>\) connection is closed" $`,
		When: func(i *Instant) bool { return len(i.Up.Only) == 0 && len(i.Fork.Only) == 1 && len(i.Fork.rest()) == 1 }},
}

// commits reports whether all that a transaction does has succeeded, so that what ends with an error is its commit.
func (i *Instant) commits() bool {
	return i.Call.Kind == "commitAgain" || i.Call.Kind != "abortedTransaction" && some(i.Fork.Before, `^succeeded update`)
}

// notRetried reports whether the fork had to return that the pool was cleared: in a transaction, without time, after the one retry of
// a write, or as it is not acknowledged.
func (i *Instant) notRetried() bool {
	switch {
	case i.hurries() && i.Fork.says("is", expired):
		return true
	case i.of(transactions):
		return i.Fork.says("is", transient) && !i.commits() || i.Fork.says("is", unknown) && i.commits()
	}
	return i.Fork.says("is", `RetryableWriteError`) && i.of(writes) &&
		(i.Plan.Has("w=0") || count(i.Fork.soFar(), unfit+`|^failed `) > 1)
}

// labels are those that errors of such a call may have.
func (i *Instant) labels() string {
	switch {
	case i.of(transactions) && i.commits():
		return `RetryableWriteError|` + unknown
	case i.of(transactions):
		return `RetryableWriteError|` + transient
	case i.of(writes):
		return `RetryableWriteError`
	}
	return `network`
}

// attempted reports whether a command has failed with the text of the call's error.
func (s Side) attempted() bool {
	text, _, _ := strings.Cut(strings.Trim(re(`".*"`).FindString(s.end("error")), `" `), noTime)
	return slices.ContainsFunc(s.soFar(), func(line string) bool {
		return strings.HasPrefix(line, "failed ") && strings.Contains(line, text)
	})
}

// failed reports whether the call's error is that with which a command of it has failed.
func (s Side) failed(command string) bool {
	return slices.ContainsFunc(s.soFar(), func(line string) bool {
		return re(`^failed `+command+`( at once)?: `).MatchString(line) &&
			strings.HasSuffix(s.end("error"), re(`".*"`).FindString(line))
	})
}

// reauthenticates reports whether a command fails with code 391.
func (i *Instant) reauthenticates() bool {
	return i.Plan.faulty(func(f Fault) bool { return f.Code == 391 })
}

// failures returns how many commands of the call have failed so far with upstream, be it by a write concern error.
func (i *Instant) failures() (n int) {
	name := re(`^(?:\S+ sees|started) (\w+)`).FindStringSubmatch(slices.Concat(i.Up.Only, i.Fork.Only)[0])
	if name == nil {
		return 0
	}
	if i.Plan.failsConcern(name[1]) {
		n += count(i.Up.Before, `^succeeded `+name[1]+`\b`)
	}
	return n + count(i.Up.soFar(), `^failed `+name[1]+`\b`)
}

// avoided returns how many routers upstream avoids: a change stream none.
func (i *Instant) avoided() int {
	if i.Call.Kind == "watch" {
		return 0
	}
	return 1
}

// elsewhere reports whether a command goes to one of two routers with upstream, and to the other with the fork.
func (i *Instant) elsewhere() bool {
	other := func(only, on []string) bool {
		return !slices.ContainsFunc(only, func(line string) bool {
			_, seen, _ := strings.Cut(line, " ")
			return !slices.ContainsFunc(on, func(other string) bool { return strings.HasSuffix(other, seen) && other != line })
		})
	}
	return i.Plan.Topology == "sharded:2" && other(i.Up.Only, i.Fork.On) && other(i.Fork.Only, i.Up.On)
}
