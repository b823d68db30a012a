package mongo

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"sort"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/version"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// bulkCall is a call that needs several commands.
type bulkCall struct {
	name string
	// run makes the call with so many writes, whose documents have the numbers from 0 as _id, and returns the numbers of the documents
	// that the result counts, and of those that it names.
	run func(ctx context.Context, coll *Collection, writes int, ordered bool) (acknowledged, error)
}

// acknowledged is what a call's result says, beside an error or not.
type acknowledged struct {
	count int
	names []int // which it may leave out
	kinds string
	// byServer is whether the result says that a server has acknowledged the writes.
	byServer bool
}

var bulkCalls = []bulkCall{
	{"InsertMany", func(ctx context.Context, coll *Collection, writes int, ordered bool) (acknowledged, error) {
		docs := make([]any, writes)
		for i := range docs {
			docs[i] = numbered(i)
		}
		res, err := coll.InsertMany(ctx, docs, options.InsertMany().SetOrdered(ordered))
		if res == nil {
			return acknowledged{}, err
		}
		a := acknowledged{count: len(res.InsertedIDs), kinds: "insert", byServer: res.Acknowledged}
		for _, id := range res.InsertedIDs {
			a.names = append(a.names, int(id.(int32)))
		}
		return a, err
	}},
	{"BulkWrite of one kind", func(ctx context.Context, coll *Collection, writes int, ordered bool) (acknowledged, error) {
		return bulkWriteOf(ctx, coll, writes, ordered, func(int) int { return 1 })
	}},
	{"BulkWrite of three kinds", func(ctx context.Context, coll *Collection, writes int, ordered bool) (acknowledged, error) {
		return bulkWriteOf(ctx, coll, writes, ordered, func(i int) int {
			if ordered {
				return i / scripted.MaxBatchCount % 3
			}
			return i % 3
		})
	}},
	{"Client.BulkWrite", clientBulkWriteOf(false)},
	{"Client.BulkWrite, verbose", clientBulkWriteOf(true)},
}

func numbered(i int) bson.D { return bson.D{{Key: "_id", Value: i}} }

func bulkWriteOf(ctx context.Context, coll *Collection, writes int, ordered bool, kind func(int) int) (acknowledged, error) {
	models := make([]WriteModel, writes)
	for i := range models {
		models[i] = []WriteModel{
			NewInsertOneModel().SetDocument(numbered(i)),
			NewUpdateOneModel().SetFilter(numbered(i)).SetUpdate(increment).SetUpsert(i%2 == 1),
			NewDeleteOneModel().SetFilter(numbered(i)),
		}[kind(i)]
	}
	res, err := coll.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(ordered))
	a := acknowledged{
		count: int(res.InsertedCount + res.MatchedCount + res.UpsertedCount + res.DeletedCount), kinds: "upsert", byServer: res.Acknowledged,
	}
	if res.ModifiedCount != res.MatchedCount || res.UpsertedIDs == nil {
		return a, fmt.Errorf("%d documents modified, %d matched, %#v upserted", res.ModifiedCount, res.MatchedCount, res.UpsertedIDs)
	}
	for i, id := range res.UpsertedIDs {
		if int(i) != int(id.(int32)) {
			return a, fmt.Errorf("write %d upserted document %v", i, id)
		}
		a.names = append(a.names, int(i))
	}
	sort.Ints(a.names)
	var failed BulkWriteException
	if errors.As(err, &failed) {
		for _, e := range failed.WriteErrors {
			if e.Request != models[e.Index] {
				return a, fmt.Errorf("the request of write error %d is another's", e.Index)
			}
		}
	}
	return a, err
}

func clientBulkWriteOf(verbose bool) func(context.Context, *Collection, int, bool) (acknowledged, error) {
	return func(ctx context.Context, coll *Collection, writes int, ordered bool) (acknowledged, error) {
		models := make([]ClientBulkWrite, writes)
		for i := range models {
			models[i] = ClientBulkWrite{Database: "db", Collection: "coll", Model: []ClientWriteModel{
				NewClientInsertOneModel().SetDocument(numbered(i)),
				NewClientUpdateOneModel().SetFilter(numbered(i)).SetUpdate(increment).SetUpsert(i%2 == 1),
				NewClientDeleteOneModel().SetFilter(numbered(i)),
			}[i%3]}
		}
		opts := options.ClientBulkWrite().SetOrdered(ordered).SetVerboseResults(verbose)
		res, err := coll.Database().Client().BulkWrite(ctx, models, opts)
		a := acknowledged{
			count: int(res.InsertedCount + res.MatchedCount + res.UpsertedCount + res.DeletedCount), byServer: res.Acknowledged,
			kinds: map[bool]string{true: "all"}[verbose],
		}
		for i := range res.InsertResults {
			a.names = append(a.names, i)
		}
		for i := range res.UpdateResults {
			a.names = append(a.names, i)
		}
		for i := range res.DeleteResults {
			a.names = append(a.names, i)
		}
		sort.Ints(a.names)
		return a, err
	}
}

// bulkWays are ways to make a call.
var bulkWays = []string{
	"plain", "in a session", "in a transaction", "with a deadline", "with a deadline that ends a backoff", "retryWrites=false",
}

// beginBulk returns the context of a call. A deadline ends after a command was sent eight times: under one, errors other than overload
// errors are retried as long as there is time.
func beginBulk(t *testing.T, way string, s *scripted.Script, client *Client) context.Context {
	ctx := scripted.NewContext()
	switch way {
	case "in a session", "in a transaction":
		session := must(client.StartSession())(t)
		if way == "in a transaction" {
			require.NoError(t, session.StartTransaction())
		}
		return NewSessionContext(bgCtx, session)
	case "with a deadline", "with a deadline that ends a backoff":
		s.OnSelect = func() error {
			if len(s.Sent) > 0 && repeated(s) >= 8 && ctx.Err() == nil {
				ctx.End(context.DeadlineExceeded)
			}
			return ctx.Err()
		}
		s.OnSleep = func() {
			if len(s.Slept) == 3 && way == "with a deadline that ends a backoff" {
				ctx.End(context.DeadlineExceeded)
			}
		}
		return ctx
	}
	return bgCtx
}

// repeated returns how often the last command was sent in a row.
func repeated(s *scripted.Script) int {
	n := 0
	for i := len(s.Sent) - 1; i >= 0; i-- {
		for _, field := range []string{"documents", "updates", "deletes", "ops"} {
			if s.Sent[i].Command.Lookup(field).String() != s.Sent[len(s.Sent)-1].Command.Lookup(field).String() {
				return n
			}
		}
		n++
	}
	return n
}

// TestBulkOutcomes makes each call in each way, ordered and not, against a server that ends its commands in all sequences of ends. What the
// call tells has to be what the server has executed, and has told.
func TestBulkOutcomes(t *testing.T) {
	for _, call := range bulkCalls {
		for _, way := range bulkWays {
			for _, ordered := range []bool{true, false} {
				call, way, ordered := call, way, ordered
				t.Run(fmt.Sprintf("%s/%s/ordered %v", call.name, way, ordered), func(t *testing.T) {
					t.Parallel()
					s, retries := scripted.New(t), way != "retryWrites=false"
					s.Policy.RetryWrites = retries
					client := connectScript(t, s, options.Client().SetRetryWrites(retries))
					for _, plan := range commandPlans(way == "plain") {
						if wrong := tryPlan(t, s, client, call, way, ordered, plan); wrong != "" {
							t.Fatalf("%v: %s", plan, wrong)
						}
					}
				})
			}
		}
	}
}

// commandPlans returns all sequences of one end, or two, and some of four.
func commandPlans(two bool) [][]commandEnd {
	var plans [][]commandEnd
	for _, first := range commandEnds {
		plans = append(plans, []commandEnd{first})
		for i := 0; two && i < len(commandEnds); i++ {
			plans = append(plans, []commandEnd{first, commandEnds[i]})
		}
	}
	random := rand.New(rand.NewSource(1))
	for i := 0; i < 100; i++ {
		plan := make([]commandEnd, 4)
		for n := range plan {
			plan[n] = commandEnds[random.Intn(len(commandEnds))]
		}
		plans = append(plans, plan)
	}
	return plans
}

// tryPlan makes a call and returns what is wrong with what it tells.
func tryPlan(t *testing.T, s *scripted.Script, client *Client, call bulkCall, way string, ordered bool, plan []commandEnd) string {
	m, _ := newModel(t, plan...)
	s.Rest, s.Sent, s.Slept, s.Selected, s.OnSelect, s.OnSleep = m.answer, nil, nil, nil, nil, nil
	ctx := beginBulk(t, way, s, client)
	writes := scripted.MaxBatchCount * len(plan)
	result, err := call.run(ctx, client.Database("db").Collection("coll"), writes, ordered)
	o := oracle{m, s, call.name, way, writes, ordered, err}
	checks := []func(acknowledged) string{o.states, o.counts, o.writeErrors, o.concernErrors, o.commandErrors, o.labels, o.kind}
	if more, ok := any(o).(interface{ retries(acknowledged) string }); ok { // what errors tell of their attempts
		checks = append(checks, more.retries)
	}
	for _, check := range checks {
		if wrong := check(result); wrong != "" {
			return fmt.Sprintf("%s\nerror: %T %v\n%+v\n%+v", wrong, err, err, BulkOutcome(err, writes), m)
		}
	}
	return ""
}

// oracle compares what a call has told with what the server has executed and told.
type oracle struct {
	*modelServer
	script    *scripted.Script
	call, way string
	writes    int
	ordered   bool
	err       error
}

// states checks what BulkOutcome says of each write.
func (o oracle) states(acknowledged) string {
	outcome, where := BulkOutcome(o.err, o.writes), map[int]string{}
	for write, err := range outcome.Failed {
		if where[write] = "failed"; err == nil {
			where[write] = "failed without an error"
		}
	}
	for state, writes := range map[string][]int{"done": outcome.Done, "not executed": outcome.NotExecuted, "unknown": outcome.Unknown} {
		for _, write := range writes {
			where[write] += state // a write in two states is in none that is wanted
		}
	}
	want := map[int]string{}
	for i := 0; i < o.writes; i++ {
		want[i] = "not executed"
	}
	for _, c := range o.commands {
		for _, write := range c.writes {
			switch {
			case c.open || c.told != nil && c.told.unread:
				want[write] = "unknown"
			case c.told == nil && c.last == "failed":
				want[write] = "failed"
			}
		}
		if c.told == nil || c.told.unread {
			continue
		}
		for _, write := range c.told.done {
			want[write] = "done"
		}
		for _, write := range c.told.failed {
			if c.end.name != "one is rejected" {
				want[write] = "failed"
			}
		}
	}
	for write := 0; write < o.writes; write++ {
		n := o.executed[write]
		possible := map[string]bool{"done": n == 1, "failed": n == 0, "not executed": n == 0, "unknown": n <= 1}
		if where[write] != want[write] || !possible[where[write]] {
			return fmt.Sprintf("write %d is said to be %q, want %q; the server executed it %d times", write, where[write], want[write], n)
		}
	}
	return ""
}

// counts checks the result's counts, the documents that it names, and that it is acknowledged if the server has acknowledged any command.
func (o oracle) counts(result acknowledged) string {
	var told, names []int
	for _, c := range o.commands {
		if c.told == nil {
			continue
		}
		told = append(told, c.told.done...)
		for i, write := range c.writes {
			upsert := c.kinds[i] == "update" && write%2 == 1
			if !containsInt(c.told.done, write) || c.told.unread {
				continue
			}
			if result.kinds == "insert" || result.kinds == "all" || result.kinds == "upsert" && upsert {
				names = append(names, write)
			}
		}
	}
	sort.Ints(names)
	// If write errors did not come, nobody knows which writes were made.
	unread := o.some(func(c *modelCommand) bool { return c.told != nil && c.told.unread })
	var client ClientBulkWriteException
	if errors.As(o.err, &client) && (client.PartialResult != nil) != (result.count > 0) && !unread {
		return fmt.Sprintf("the exception has a partial result %v, and %d writes were made", client.PartialResult, result.count)
	}
	if len(told) != result.count {
		return fmt.Sprintf("the result counts %d writes, the server acknowledged %v", result.count, told)
	}
	if fmt.Sprint(names) != fmt.Sprint(result.names) {
		return fmt.Sprintf("the result names %v, want %v", result.names, names)
	}
	if told := o.someExecuted(); result.byServer != told {
		return fmt.Sprintf("Acknowledged is %v, and the server acknowledged a command: %v", result.byServer, told)
	}
	return ""
}

func containsInt(all []int, one int) bool {
	for _, n := range all {
		if n == one {
			return true
		}
	}
	return false
}

// exceptionsIn returns the exceptions that errors.As finds, one of which is empty.
func exceptionsIn(err error) (bulk BulkWriteException, client ClientBulkWriteException) {
	errors.As(err, &bulk)
	errors.As(err, &client)
	return bulk, client
}

// writeErrors checks that each write error is told, with its index and what it says.
func (o oracle) writeErrors(acknowledged) string {
	var want, got []int
	for _, c := range o.commands {
		if c.told != nil && !c.told.unread {
			want = append(want, c.told.failed...)
		}
	}
	var all []WriteError
	bulk, client := exceptionsIn(o.err)
	for _, e := range bulk.WriteErrors {
		all = append(all, e.WriteError)
	}
	for i, e := range client.WriteErrors {
		if i != e.Index {
			return fmt.Sprintf("write error %d is at %d", e.Index, i)
		}
		all = append(all, e)
	}
	for _, e := range all {
		got = append(got, e.Index)
		what := fmt.Sprintf("%d %s %v", e.Code, e.Message, len(e.Raw) > 0 && len(e.Details) > 0)
		if what != "11000 write error 11000 true" && what != "462 write error 462 true" {
			return "a write error says " + what
		}
	}
	if o.err != nil && (strings.Count(o.err.Error(), "write error ") != len(got) || strings.Contains(o.err.Error(), "top level")) {
		return fmt.Sprintf("the text tells of other write errors than those of %v", got)
	}
	sort.Ints(want)
	sort.Ints(got)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Sprintf("write errors of %v, want those of %v", got, want)
	}
	return ""
}

// concernErrors checks that each write concern error is told, once, with what it says.
func (o oracle) concernErrors(acknowledged) string {
	var want, got []int
	for _, c := range o.commands {
		if c.told != nil && c.told.concern != 0 {
			want = append(want, c.told.concern)
		}
	}
	bulk, client := exceptionsIn(o.err)
	if (bulk.WriteConcernError == nil) != (len(bulk.WriteConcernErrors) == 0) {
		return "WriteConcernError and WriteConcernErrors disagree"
	}
	for _, e := range append(bulk.WriteConcernErrors, client.WriteConcernErrors...) {
		got = append(got, e.Code)
		if e.Name != "Concern" || e.Message != "scripted" || len(e.Raw) == 0 {
			return fmt.Sprintf("a write concern error says %+v", e)
		}
	}
	if o.err != nil && strings.Count(o.err.Error(), "(Concern) scripted") != len(got) {
		return fmt.Sprintf("the text tells of other write concern errors than %v", got)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Sprintf("write concern errors %v, want %v", got, want)
	}
	return ""
}

// commandErrors checks that the error of each command that was not executed in the end is told.
func (o oracle) commandErrors(acknowledged) string {
	failed := false
	for _, c := range o.commands {
		code := map[string]int{"failed": 13, "stopped": 91, "rejected": 462}[c.last]
		if c.results == "rejected" {
			code = 462
		}
		if c.open && c.last == "rejected" {
			code = 0 // the error is that of the attempt that may have been executed
		}
		failed = failed || c.last != "executed" || c.told.concern != 0 || len(c.told.failed) > 0
		if code == 0 {
			continue
		}
		var commandErr CommandError
		if !errors.As(o.err, &commandErr) {
			return fmt.Sprintf("no CommandError, want one with code %d", code)
		}
		if !containsInt(append(ErrorCodes(o.err), commandErrors(o.err)...), code) {
			return fmt.Sprintf("no error with code %d", code)
		}
		if code != 462 {
			continue
		}
		if !errorHasLabel(o.err, driver.ErrSystemOverloadedError) {
			return "it does not say that the server is overloaded"
		}
		var client ClientBulkWriteException
		if errors.As(o.err, &client) && client.WriteError == nil {
			return "WriteError is nil"
		}
	}
	if failed && o.err == nil {
		return "there is no error"
	}
	return ""
}

// commandErrors returns the codes of the errors of all commands.
func commandErrors(err error) []int {
	bulk, client := exceptionsIn(err)
	var only CommandError
	errors.As(err, &only)
	return append(append(bulk.failure.codes(), client.failure.codes()...), int(only.Code))
}

// failed reports whether a command was not executed in the end, as far as the client knows.
func (c *modelCommand) failed() bool { return c.told == nil }

// rejected reports whether nothing of a command can have been executed, because the server has rejected it.
func (c *modelCommand) rejected() bool { return c.failed() && c.last == "rejected" && !c.open }

// some reports whether something is so of any command of the call.
func (o oracle) some(is func(*modelCommand) bool) bool {
	for _, c := range o.commands {
		if is(c) {
			return true
		}
	}
	return false
}

// someExecuted reports whether the client knows that the server has executed a command of the call.
func (o oracle) someExecuted() bool { return o.some(func(c *modelCommand) bool { return !c.failed() }) }

// operation returns which of the call's operations sends a command. Only a BulkWrite of several kinds has more than one.
func (o oracle) operation(c *modelCommand) string {
	switch {
	case o.call != "BulkWrite of three kinds":
		return "the only one"
	case o.ordered: // each kind in turn has as many models as fit into a command
		return fmt.Sprint(c.writes)
	default:
		return c.kinds[0]
	}
}

// unsentOperations returns how many operations of the call have failed without sending a command, because the context had ended.
func (o oracle) unsentOperations() int {
	if o.call != "BulkWrite of three kinds" || o.ordered {
		return 0
	}
	sent := map[string]bool{}
	for _, c := range o.commands {
		sent[o.operation(c)] = true
	}
	all := 3
	if o.writes < all {
		all = o.writes
	}
	return all - len(sent)
}

// isCommandError reports whether the error has to be that of a command: nothing was executed, and there is no more to tell, because one
// command has failed, or those that failed were all rejected or not sent.
func (o oracle) isCommandError() bool {
	failures, others := o.unsentOperations(), 0
	for _, c := range o.commands {
		if c.failed() {
			failures++
			if !c.rejected() {
				others++
			}
		}
	}
	return !o.someExecuted() && (failures == 1 || others == 0)
}

// kind checks the error's type, exactly: that of a command if there is no more to tell, and else the exception of the API.
func (o oracle) kind(acknowledged) string {
	exception := "mongo.BulkWriteException"
	if strings.HasPrefix(o.call, "Client") {
		exception = "mongo.ClientBulkWriteException"
	}
	want := exception
	switch {
	case !o.told():
		want = "<nil>"
	case o.isCommandError():
		want = "mongo.CommandError"
		// Applications of v2.5.0 know the rejection of a Client.BulkWrite as an exception.
		if strings.HasPrefix(version.Driver, "2.5.") && strings.HasPrefix(o.call, "Client") && o.commands[0].rejected() {
			want = exception
		}
	}
	if got := fmt.Sprintf("%T", o.err); got != want {
		return fmt.Sprintf("the error is a %s, want a %s", got, want)
	}
	return ""
}

// told reports whether there is anything that an error has to tell.
func (o oracle) told() bool {
	return o.unsentOperations() > 0 || o.some(func(c *modelCommand) bool {
		return c.failed() || len(c.told.failed) > 0 || c.told.concern != 0 || c.results == "rejected" || c.results == "closed"
	})
}

// labels checks that the error has exactly the labels of its commands that are right for the call: if anything of it can have been
// executed, none says that the call can be made again, but that of a write whose reply was lost.
func (o oracle) labels(acknowledged) string {
	want := map[string]bool{}
	for _, c := range o.commands {
		for _, label := range o.labelsOf(c) {
			want[label] = true
		}
	}
	once := map[string]bool{}
	bulk, client := exceptionsIn(o.err)
	for _, label := range append(bulk.Labels, client.Labels...) {
		if once[label] {
			return "it has a label twice: " + label
		}
		once[label] = true
	}
	for _, label := range []string{
		driver.NetworkError, driver.TransientTransactionError, driver.UnknownTransactionCommitResult, driver.RetryableWriteError,
		driver.NoWritesPerformed, driver.ErrSystemOverloadedError, driver.ErrRetryableError, "Unsure",
	} {
		if got := errorHasLabel(o.err, label); got != want[label] {
			return fmt.Sprintf("it has the label %s: %v", label, got)
		}
	}
	return ""
}

// labelsOf returns the labels that the call's error has to have for a command.
func (o oracle) labelsOf(c *modelCommand) []string {
	var labels []string
	if c.told != nil && c.told.concern == 64 {
		labels = append(labels, "Unsure") // which the server says of it
	}
	switch {
	case c.rejected(), c.results == "rejected", c.last == "rejected" && c.told != nil:
		labels = append(labels, driver.ErrSystemOverloadedError)
		if o.isCommandError() {
			labels = append(labels, driver.ErrRetryableError, driver.NoWritesPerformed)
		}
	case c.results == "closed":
		labels = append(labels, driver.NetworkError)
		if o.way == "in a transaction" {
			labels = append(labels, driver.TransientTransactionError)
		}
	case c.last == "closed" && c.told != nil: // the retry was; the call must not be made again
		labels = append(labels, driver.NetworkError)
	case c.failed() && c.last == "stopped": // its label is the server's
		labels = append(labels, driver.RetryableWriteError)
	case c.failed() && c.last != "failed": // closed, perhaps before a rejection
		labels = append(labels, driver.NetworkError)
		switch o.way {
		case "in a transaction":
			labels = append(labels, driver.TransientTransactionError)
		case "retryWrites=false":
		default:
			labels = append(labels, driver.RetryableWriteError)
		}
	}
	return labels
}
