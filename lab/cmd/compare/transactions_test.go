package main

import "mongofork/lab/virtual/trial"

const (
	aborts      = "started abortTransaction"
	commits     = "started commitTransaction"
	commitFails = `failed commitTransaction: E "x" UnknownTransactionCommitResult`
	notLabelled = `driver.WriteCommandError "write command error: [{write errors: []}, {x}]"`
	lost        = "timeout, UnknownTransactionCommitResult"
	within      = "withTransaction"
)

// concern is a fault of commits.
var concern = trial.Fault{What: trial.Concern, On: "commitTransaction"}

// aborted is a transaction that the application aborts once more.
var aborted = scene{trial.Plan{Calls: []trial.Call{{ID: 1, Kind: "transaction", Again: "abort"}}}, 1}

// committed is one that it commits once more.
var committed = scene{trial.Plan{Calls: []trial.Call{{ID: 1, Kind: "transaction", Again: "commit"}}}, 1}

var examplesOfTransactions = []example{
	{"pool cleared before the command asked for a connection", "in the wait queue", of("transaction"), l(unfit, unfit),
		l("started insert"), l(next, aborts)},
	{"pool cleared before the command asked for a connection", "and the abort, too", of("transaction"), l("succeeded insert",
		unfit), l("started update"),
		l(next, `error T "`+cleared+`"`)},
	{"", "and no abort", of("transaction"), l(unfit), l("started insert"), l(next, "started insert")},
	{"`WithTransaction`, between transactions", "upstream begins at once", of(within), l(starts), l(starts), l(next, starts)},
	{"", "the fork never begins", of(within), l(starts), l(starts), l(next, "returns <nil>, no error")},
	{"", "for the first time", of(within), nil, l(starts), l(next, starts)},

	{"retried abortTransaction", "unpinned", in("loadbalanced:1", of("abortedTransaction")), l(aborts), l(aborts), l(next, aborts)},
	{"", "in a replica set", in("replicaset:1", of("abortedTransaction")), l(aborts), l(aborts), l(next, aborts)},
	{"", "its first abort", in("loadbalanced:1", of("abortedTransaction")), nil, l(aborts), l(next, aborts)},
	{"", "no retried abort", in("loadbalanced:1", of("abortedTransaction")), l(aborts), l(aborts), l(next, "returns <nil>, no error")},
	{"retried abortTransaction", "a commit's label", of("transaction"), nil,
		l(`failed abortTransaction: E "x" network, UnknownTransactionCommitResult`),
		l(`failed abortTransaction: E "x" network, TransientTransactionError`)},
	{"retried abortTransaction", "a commit's write concern", of("transaction"), nil,
		l(`a sees abortTransaction: 1, writeConcern: {"w": "majority","wtimeout": {"$numberLong":"10000"}}, lsid: 1`),
		l(`a sees abortTransaction: 1, lsid: 1`)},
	{"", "of the fork", of("transaction"), nil, l(`a sees abortTransaction: 1, lsid: 1`),
		l(`a sees abortTransaction: 1, writeConcern: {"w": "majority","wtimeout": {"$numberLong":"10000"}}, lsid: 1`)},
	{"", "another label, and no write concern", of("transaction"), nil,
		l(`a sees abortTransaction: 1, writeConcern: {"w": "majority","wtimeout": {"$numberLong":"10000"}}, lsid: 1`),
		l(`failed abortTransaction: E "x" network, TransientTransactionError`)},
	{"", "of a commit", of("transaction"), nil, l(commitFails), l(`failed commitTransaction: E "x" TransientTransactionError`)},
	{"reauthentication (code 391)", "a transaction begins", failing(trial.Fault{Code: 391}, of("transaction")), nil,
		l("a sees insert: 1, lsid: 1"), l("a sees insert: 1, lsid: 1, startTransaction: true")},
	{"", "a transaction begins after another error", failing(trial.Fault{Code: 91}, of("transaction")), nil,
		l("a sees insert: 1, lsid: 1"), l("a sees insert: 1, lsid: 1, startTransaction: true")},
}

var examplesOfCommits = []example{
	{"a commit of unknown result by `WithTransaction`", "upstream commits again at once", of(within), l(commitFails), l(commits),
		l(next, commits)},
	{"", "the fork does not commit again", of(within), l(commitFails), l(commits), l(next, "returns <nil>, no error")},
	{"", "the commit succeeded", of(within), l("succeeded commitTransaction"), l(commits), l(next, commits)},
	{"a commit's result is unknown", "upstream commits again at once", of("transaction"), l(commitFails), l(commits), l(next, commits)},
	{"a commit's result is unknown", "after a write concern error", failing(concern, of("transaction")),
		l("succeeded commitTransaction"),
		l(commits), l(next, commits)},
	{"", "the application's is not sent again", of("transaction"), l(commitFails), l(commits), l(next, "returns <nil>, no error")},

	{"a commit of unknown result that was sent", "upstream's EndSession aborts it", of("transaction"), nil, l(aborts), ended(`E "x"`,
		lost)},
	{"a commit of unknown result that was sent", "and both end at that instant", of("transaction"), nil,
		append(ended(`E "x"`, lost), aborts, "succeeded abortTransaction"), ended(`E "x"`, lost)},
	{"", "the fork's result is known", of("transaction"), nil, l(aborts), ended(`E "x"`, "timeout")},
	{"a commit of unknown result that was sent", "the application aborts it", by(2001, aborted), nil, l(aborts),
		ended(`E "cannot call abortTransaction after calling commitTransaction"`, "")},
	{"", "and it fails", by(2001, aborted), nil, l(aborts), ended(`E "x"`, "")},
	{"a commit of unknown result that was sent", "the majority", of("transaction"), nil, l("a sees commitTransaction: 1, lsid: 1"),
		l(`a sees commitTransaction: 1, writeConcern: {"w": "majority"}, lsid: 1`)},
	{"", "no majority", of("transaction"), nil, l(`a sees commitTransaction: 1, writeConcern: {"w": "majority"}, lsid: 1`),
		l("a sees commitTransaction: 1, lsid: 1")},
	{"a commit of unknown result that was sent", "what a monitor runs", by(1001, failing(concern, of("transaction"))), nil,
		l(`a sees count: 1, writeConcern: {"w": "majority"}, lsid: 1`), l("a sees count: 1, lsid: 1")},
	{"", "what a monitor runs beside no failed commit", by(1001, of("transaction")), nil,
		l(`a sees count: 1, writeConcern: {"w": "majority"}, lsid: 1`), l("a sees count: 1, lsid: 1")},
	{"", "another command of a monitor", by(1001, failing(concern, of("transaction"))), nil, l("a sees count: 1, lsid: 1"),
		l("a sees count: 2, lsid: 1")},
	{"a commit of unknown result that was sent", "no server for the next", failing(concern, of(within)), nil, ended(notLabelled,
		"RetryableWriteError"), nil},
	{"a commit of unknown result that was sent", "and no time", failing(concern, of("transaction")), nil, ended(notLabelled,
		"RetryableWriteError"),
		ended(`mongo.CommandError "x: no time for a retry: x"`, lost)},
	{"", "without a label in the fork", failing(concern, of("transaction")), nil, ended(notLabelled, "RetryableWriteError"),
		ended(`mongo.CommandError "x: no time for a retry: x"`, "RetryableWriteError")},
	{"", "no fault of a commit", of("transaction"), nil, nil, ended(`mongo.CommandError "x"`, lost)},
	{"that error of a commit; a commit that finds no server", "a commit", of("transaction"), l("succeeded update"),
		ended(`E "`+selection+`"`, "timeout"),
		ended(`mongo.CommandError " `+selection+`"`, "timeout, UnknownTransactionCommitResult", "detail command 0")},
	{"that error of a commit; a commit that finds no server", "a commit by WithTransaction", of(within), l("succeeded update"),
		ended(`topology.ServerSelectionError "`+selection+`"`, "timeout"),
		ended(`mongo.CommandError "`+selection+`"`, "timeout, UnknownTransactionCommitResult", "detail command 0")},
	{"", "a transaction's first command", of("transaction"), nil, ended(`E "`+selection+`"`, "timeout"),
		ended(`mongo.CommandError " `+selection+`"`, "timeout, UnknownTransactionCommitResult", "detail command 0")},
	{"", "no commit by WithTransaction", of(within), nil, ended(`topology.ServerSelectionError "`+selection+`"`, "timeout"),
		ended(`mongo.CommandError "`+selection+`"`, "timeout, UnknownTransactionCommitResult", "detail command 0")},
	{"that error of a commit; a commit that finds no server", "the error before it", of("transaction"),
		l("succeeded update", "failed commitTransaction: E x"),
		ended(`E "x"`, "RetryableWriteError"), ended(`E "x"`, "RetryableWriteError, UnknownTransactionCommitResult")},
	{"that error of a commit; a commit that finds no server", "and its labels", of("transaction"),
		l("succeeded update", "failed commitTransaction: E x"),
		ended(`E "x"`, "RetryableWriteError", `detail command 91 x ["RetryableWriteError"] raw 143`),
		ended(`E "x"`, "RetryableWriteError, UnknownTransactionCommitResult",
			`detail command 91 x ["RetryableWriteError" "UnknownTransactionCommitResult"] raw 143`)},
	{"", "and fewer labels", of("transaction"), l("succeeded update", "failed commitTransaction: E x"),
		ended(`E "x"`, "RetryableWriteError", `detail command 91 x ["RetryableWriteError"] raw 143`),
		ended(`E "x"`, "RetryableWriteError, UnknownTransactionCommitResult",
			`detail command 91 x ["UnknownTransactionCommitResult"] raw 143`)},
	{"", "a commit's other error", of("transaction"), l("succeeded update"), ended(`E "(MaxTimeMSExpired) x"`, ""),
		ended(`E "(MaxTimeMSExpired) x"`, "UnknownTransactionCommitResult")},
	{"that error of a commit; a commit that finds no server", "and no time for it", of("transaction"), l(commitFails), ended(`E "x"`,
		""),
		ended(`E "x: no time for a retry:  server selection error: y"`, expired+", UnknownTransactionCommitResult")},
	{"", "and no commit has failed", of("transaction"), nil, ended(`E "x"`, ""),
		ended(`E "x: no time for a retry:  server selection error: y"`, expired+", UnknownTransactionCommitResult")},
	{"a transaction finds no server; a commit's result is unknown", "unpinned", in("loadbalanced:1", of("transaction")), l(commitFails),
		l(next, commits), l(commits)},
	{"", "in a replica set", in("replicaset:1", of("transaction")), l(commitFails), l(next, commits), l(commits)},
	{"", "a known result", in("loadbalanced:1", of("transaction")), l("succeeded commitTransaction"), l(next, commits), l(commits)},
}
