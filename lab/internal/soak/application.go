package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
	"go.uber.org/goleak"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/servererror"
)

const (
	patience      = 60 * time.Second      // bounds the operations in progress at the end
	leavePatience = 10 * time.Second      // bounds the time that a client's goroutines take to end after Disconnect
	pace          = 50 * time.Millisecond // the least wait of a worker between two operations
)

// Application is the command line of one application, which runs as a program of its own, built with its driver.
type Application struct {
	URI      string `required:"" help:"The connection string of its fronts."`
	Direct   string `required:"" help:"That of the members."`
	Database string `required:"" help:"Its database."`
	Start    time.Time
	Duration time.Duration
}

// Run lets the application work, and writes its Report, as JSON. The error is for a run that failed.
func (a *Application) Run(ctx context.Context, to io.Writer) error {
	w := &workers{report: newReport(), seen: map[int][]int64{}}
	if err := a.run(ctx, w); err != nil {
		return err
	}
	lists, err := a.lists(ctx)
	if err != nil {
		return err
	}
	w.check(lists)
	return json.NewEncoder(to).Encode(w.report)
}

// run lets a client work, and checks that nothing of the client is left.
func (a *Application) run(ctx context.Context, w *workers) error {
	others := goleak.IgnoreCurrent()
	files, err := openFiles()
	if err != nil {
		return err
	}
	client, err := mongo.Connect(options.Client().ApplyURI(a.URI).SetMonitor(&event.CommandMonitor{Started: w.report.started}))
	if err != nil {
		return err
	}
	w.db = client.Database(a.Database)
	err = a.busy(ctx, w)
	err = errors.Join(err, client.Disconnect(context.WithoutCancel(ctx)))
	left := goleak.Find(others)
	for deadline := time.Now().Add(leavePatience); left != nil && time.Now().Before(deadline); left = goleak.Find(others) {
	}
	if open, _ := openFiles(); open > files {
		w.report.violation("connections that were leaked", "%d are open after Disconnect", open-files)
	}
	if left != nil {
		w.report.violation("goroutines that were leaked", "after Disconnect: %v", left)
	}
	return err
}

// busy lets all work for the duration of the run, and then lets them finish.
func (a *Application) busy(ctx context.Context, w *workers) (err error) {
	if w.session, err = w.db.Client().StartSession(); err != nil {
		return err
	}
	defer w.session.EndSession(context.WithoutCancel(ctx))
	for _, name := range []string{shared, listed, inserted, own} {
		if err := w.db.CreateCollection(ctx, name); err != nil {
			return err
		}
	}
	if err := w.watch(ctx); err != nil {
		return fmt.Errorf("open the change stream: %w", err)
	}
	if err := clock.Wait(ctx, time.Until(a.Start)); err != nil {
		return err
	}
	working, stop := context.WithTimeout(ctx, a.Duration)
	defer stop()
	var busy sync.WaitGroup
	for kind, operate := range w.jobs() {
		busy.Go(func() {
			// The operation itself is not interrupted: a context with a deadline would put the driver's retries under a
			// client-side timeout.
			for clock.Wait(working, pace) == nil {
				w.report.operation(kind, operate(context.WithoutCancel(ctx)))
			}
		})
	}
	busy.Wait()
	return w.finish(ctx)
}

// lists returns the lists that are there, as the members themselves tell, by collection.
func (a *Application) lists(ctx context.Context) (lists map[string]map[int][]int64, err error) {
	client, err := mongo.Connect(options.Client().ApplyURI(a.Direct))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Disconnect(context.WithoutCancel(ctx))) }()
	lists = make(map[string]map[int][]int64)
	for _, name := range []string{shared, listed, inserted, own} {
		cursor, err := client.Database(a.Database).Collection(name).Find(ctx, bson.D{})
		if err != nil {
			return nil, err
		}
		var found []list
		if err := cursor.All(ctx, &found); err != nil {
			return nil, err
		}
		lists[name] = make(map[int][]int64)
		for _, l := range found {
			lists[name][l.ID] = l.N
		}
	}
	return lists, nil
}

// openFiles returns how many files and connections this process has open.
func openFiles() (int, error) {
	files, err := os.ReadDir("/dev/fd")
	return len(files), err
}

// Report is the result of a run, or of several. It is safe for concurrent use.
type Report struct {
	mu                 sync.Mutex
	Operations, Errors int64               // all, and the errors among them that are documented
	Violations         map[string][]string // the broken promises, by kind
	Most               int                 // the largest number of commands for one operation

	commands map[string]int // of each operation, by the comments that the workers set
}

func newReport() *Report {
	return &Report{Violations: make(map[string][]string), commands: make(map[string]int)}
}

func (r *Report) violation(kind, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Violations[kind] = append(r.Violations[kind], fmt.Sprintf("%.1000s", fmt.Sprintf(format, args...)))
}

// operation counts an operation and the error that the application saw.
func (r *Report) operation(kind string, err error) {
	documented := documented(err)
	if err != nil && !documented {
		r.violation("errors that are not documented", "%s: %T %v", kind, err, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Operations++
	if documented {
		r.Errors++
	}
}

// maxCommands is the specification's limit of commands for one operation: one, and five retries.
const maxCommands = 6

// started counts a command.
func (r *Report) started(_ context.Context, e *event.CommandStartedEvent) {
	comment, ok := e.Command.Lookup("comment").StringValueOK()
	if !ok || e.CommandName == "getMore" { // a cursor's has the comment of the aggregate, and there is one for each batch
		return
	}
	operation := e.CommandName + " " + comment
	r.mu.Lock()
	r.commands[operation]++
	commands := r.commands[operation]
	r.Most = max(r.Most, commands)
	r.mu.Unlock()
	if commands == maxCommands+1 {
		r.violation("operations of more than 6 commands", "%s", operation)
	}
}

// labels are the error labels that tell an application what it may do.
var labels = []string{"SystemOverloadedError", "TransientTransactionError", "UnknownTransactionCommitResult", "ResumableChangeStreamError",
	"RetryableWriteError", "RetryableError"}

// codes are the error codes of a member that changes its role; and what a server documents for what is lost with a member or not there
// yet: cursors that were open there, and the time to read at, which a member that has just started does not know.
var codes = append([]int32{43 /* CursorNotFound */, 237 /* CursorKilled */, 246 /* SnapshotUnavailable */}, servererror.StateChanges...)

// documented reports whether the driver's documentation names an error for a deployment in trouble.
func documented(err error) bool {
	var (
		labelled  mongo.LabeledError
		command   mongo.ServerError
		selection topology.ServerSelectionError
		waiting   topology.WaitQueueTimeoutError
		pool      driver.RetryablePoolError
	)
	return errors.As(err, &labelled) && slices.ContainsFunc(labels, labelled.HasErrorLabel) ||
		errors.As(err, &command) && slices.ContainsFunc(codes, func(code int32) bool { return command.HasErrorCode(int(code)) }) ||
		errors.As(err, &selection) || errors.As(err, &waiting) || errors.As(err, &pool) ||
		mongo.IsNetworkError(err) || mongo.IsTimeout(err)
}

// sum adds the report of a seed.
func (r *Report) sum(seed uint64, more *Report) {
	r.Operations, r.Errors, r.Most = r.Operations+more.Operations, r.Errors+more.Errors, max(r.Most, more.Most)
	for kind, examples := range more.Violations {
		for _, example := range examples {
			r.violation(kind, "seed %d: %s", seed, example)
		}
	}
}

// render returns the table, side by side, the first example of each violation, and a verdict on each application, as Markdown.
func render(arms []*arm) string {
	var table, below strings.Builder
	row := func(title string, of func(*arm) any) {
		fmt.Fprintf(&table, "| %s |", title)
		for _, arm := range arms {
			fmt.Fprintf(&table, " %v |", of(arm))
		}
		table.WriteString("\n")
	}
	row("", func(a *arm) any { return a.name })
	row("---", func(*arm) any { return "---:" })
	row("operations", func(a *arm) any { return a.Operations })
	row("documented errors", func(a *arm) any { return a.Errors })
	row("commands of one operation, at most", func(a *arm) any { return a.Most })
	kinds, verdicts := make(map[string]bool), ""
	for _, arm := range arms {
		broken := 0
		for _, kind := range slices.Sorted(maps.Keys(arm.Violations)) {
			kinds[kind] = true
			broken += len(arm.Violations[kind])
			fmt.Fprintf(&below, "%s, the first of %s: %s\n", arm.name, kind, arm.Violations[kind][0])
		}
		verdicts += arm.verdict(broken)
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		row(kind, func(a *arm) any { return len(a.Violations[kind]) })
	}
	if len(kinds) == 0 {
		row("violations", func(*arm) any { return 0 })
	}
	return table.String() + "\n" + below.String() + verdicts
}

// verdict says in a sentence what an application has shown.
func (a *arm) verdict(broken int) string {
	switch {
	case a.Operations == 0:
		return a.name + " has done nothing.\n"
	case broken == 0:
		return fmt.Sprintf("%s kept every promise: in %d operations each acknowledged write took place once, and each error is "+
			"documented.\n", a.name, a.Operations)
	}
	return fmt.Sprintf("In %d operations, %s broke %d of its promises.\n", a.Operations, a.name, broken)
}

// The collections of lists: one to which several workers append, that of transactions, which also insert a document for each number, and
// that of a session. They are made before the work, because transactions would make them with difficulty.
const shared, listed, inserted, own = "shared", "listed", "inserted", "own"

// readBatch is small, so that a read by a cursor takes several getMore commands.
const readBatch = 20

// list is a document of those collections, which is replaced by another after some time.
type list struct {
	ID int     `bson:"_id"`
	N  []int64 `bson:"n"`
}

// workers do what is done over and over.
type workers struct {
	db     *mongo.Database
	report *Report
	calls  atomic.Int64

	shared, listed, own history
	session             *mongo.Session
	steps               int

	// stream is the change stream of the session's lists, resume its token, and seen are the numbers that it delivered, by list.
	stream *mongo.ChangeStream
	resume bson.Raw
	seen   map[int][]int64
}

// jobs returns the operations.
func (w *workers) jobs() map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"update":     func(ctx context.Context) error { return w.append(ctx, &w.shared, shared) },
		"bulk write": w.bulkWrite, "findAndModify": w.findAndModify, "linearizable read": w.read,
		"transaction": w.transaction, "session": w.step, "change stream": w.watch,
	}
}

// comment returns a comment that no operation had before.
func (w *workers) comment() string { return fmt.Sprintf("operation %d", w.calls.Add(1)) }

func byID(list int) bson.D { return bson.D{{Key: "_id", Value: list}} }

func appends(n int64) bson.D { return bson.D{{Key: "$push", Value: bson.D{{Key: "n", Value: n}}}} }

// append appends a number to the list of a history.
func (w *workers) append(ctx context.Context, h *history, collection string) error {
	return h.do(1, func(a *access) error { return w.push(ctx, collection, a) })
}

// push appends the access's number.
func (w *workers) push(ctx context.Context, collection string, a *access) error {
	_, err := w.db.Collection(collection).UpdateOne(ctx, byID(a.list), appends(a.appended[0]),
		options.UpdateOne().SetUpsert(true).SetComment(w.comment()))
	return err
}

// bulkWrite appends two numbers.
func (w *workers) bulkWrite(ctx context.Context) error {
	return w.shared.do(2, func(a *access) error {
		var models []mongo.WriteModel
		for _, n := range a.appended {
			models = append(models, mongo.NewUpdateOneModel().SetFilter(byID(a.list)).SetUpdate(appends(n)).SetUpsert(true))
		}
		result, err := w.db.Collection(shared).BulkWrite(ctx, models, options.BulkWrite().SetComment(w.comment()))
		if err == nil && result.ModifiedCount+result.UpsertedCount != 2 {
			w.report.violation("results that are wrong", "a bulk write of two updates: %+v", *result)
		}
		return err
	})
}

// findAndModify appends a number, with which the list that it returns ends.
func (w *workers) findAndModify(ctx context.Context) error {
	return w.shared.do(1, func(a *access) error {
		var after list
		err := w.db.Collection(shared).FindOneAndUpdate(ctx, byID(a.list), appends(a.appended[0]),
			options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After).SetComment(w.comment())).Decode(&after)
		if a.read = after.N; err == nil && !slices.Equal(a.read[max(0, len(a.read)-1):], a.appended) {
			w.report.violation("results that are wrong", "findAndModify appended %d and returned %v", a.appended[0], a.read)
		}
		return err
	})
}

// read reads a list, which may not be there yet.
func (w *workers) read(ctx context.Context) error {
	lists := w.db.Collection(shared, options.Collection().SetReadConcern(readconcern.Linearizable()))
	return w.shared.do(0, func(a *access) error {
		var found list
		err := lists.FindOne(ctx, byID(a.list), options.FindOne().SetComment(w.comment())).Decode(&found)
		if a.read = found.N; errors.Is(err, mongo.ErrNoDocuments) {
			return nil
		}
		return err
	})
}

// transaction appends a number to a list, and inserts a document for it.
func (w *workers) transaction(ctx context.Context) error {
	return w.listed.do(1, func(a *access) error {
		return w.db.Client().UseSession(ctx, func(ctx context.Context) error {
			_, err := mongo.SessionFromContext(ctx).WithTransaction(ctx, func(ctx context.Context) (any, error) {
				if err := w.push(ctx, listed, a); err != nil {
					return nil, err
				}
				return w.db.Collection(inserted).InsertOne(ctx, byID(int(a.appended[0])),
					options.InsertOne().SetComment(w.comment()))
			})
			return err
		})
	})
}

// step appends a number in a causally consistent session, or reads what the session knows at the primary or at a secondary, in turn.
func (w *workers) step(ctx context.Context) error {
	switch w.steps++; w.steps % 4 {
	case 1:
		return w.readNumbers(ctx, readpref.Primary())
	case 3:
		return w.readNumbers(ctx, readpref.Secondary())
	default:
		return w.add(ctx)
	}
}

func (w *workers) add(ctx context.Context) error {
	return w.append(mongo.NewSessionContext(ctx, w.session), &w.own, own)
}

// readNumbers reads the session's list by a cursor of its numbers.
func (w *workers) readNumbers(ctx context.Context, from *readpref.ReadPref) error {
	ctx = mongo.NewSessionContext(ctx, w.session)
	lists := w.db.Collection(own, options.Collection().SetReadPreference(from).SetReadConcern(readconcern.Majority()))
	return w.own.do(0, func(a *access) error {
		cursor, err := lists.Aggregate(ctx, []bson.M{{"$match": byID(a.list)}, {"$unwind": "$n"}},
			options.Aggregate().SetBatchSize(readBatch).SetComment(w.comment()))
		if err != nil {
			return err
		}
		var numbers []struct{ N int64 }
		err = cursor.All(ctx, &numbers)
		for _, number := range numbers {
			a.read = append(a.read, number.N)
		}
		return err
	})
}

// appended makes one of the event of a list that is new, which has the list, and that of an appended number, which has the number alone.
var appended = bson.M{"$ifNull": bson.A{"$fullDocument.n",
	bson.M{"$map": bson.M{"input": bson.M{"$objectToArray": "$updateDescription.updatedFields"}, "in": "$$this.v"}}}}

// watch follows the session's lists by a change stream: it reads what the stream has. Like an application, it opens another where one that
// returned an error ended.
func (w *workers) watch(ctx context.Context) error {
	if w.stream == nil {
		opts := options.ChangeStream().SetMaxAwaitTime(200 * time.Millisecond)
		if w.resume != nil {
			opts.SetResumeAfter(w.resume)
		}
		stream, err := w.db.Collection(own).Watch(ctx, []bson.M{{"$project": bson.M{"documentKey": 1, "n": appended}}}, opts)
		if err != nil {
			return err
		}
		w.stream = stream
	}
	for w.stream.TryNext(ctx) {
		var event struct {
			List list `bson:"documentKey"`
			N    []int64
		}
		if err := w.stream.Decode(&event); err != nil {
			return err
		}
		w.seen[event.List.ID] = append(w.seen[event.List.ID], event.N...)
	}
	w.resume = w.stream.ResumeToken()
	err := w.stream.Err()
	if err != nil {
		_ = w.stream.Close(context.WithoutCancel(ctx)) // it has failed
		w.stream = nil
	}
	return err
}

// finish appends a last number and waits for its event. It insists, because an error must not look like a stream that ended.
func (w *workers) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for err := w.add(ctx); err != nil; err = w.add(ctx) {
		if clock.Wait(ctx, pace) != nil {
			return fmt.Errorf("append the last number: %w", err)
		}
	}
	for w.stream == nil || !slices.Contains(w.seen[w.own.list], w.own.last) {
		w.report.operation("change stream", w.watch(ctx))
		if clock.Wait(ctx, pace) != nil {
			w.report.violation("change streams that end early", "it did not deliver the last number in time")
			return nil
		}
	}
	return w.stream.Close(ctx)
}

// check compares the final lists with what the workers were told.
func (w *workers) check(lists map[string]map[int][]int64) {
	w.shared.check(lists[shared], w.report)
	w.listed.check(lists[listed], w.report)
	w.own.check(lists[own], w.report)
	for _, a := range w.listed.accesses {
		n := a.appended[0]
		if _, there := lists[inserted][int(n)]; there != slices.Contains(lists[listed][a.list], n) {
			w.report.violation("transactions that are not whole", "%d is in list %d or inserted, but not both", n, a.list)
		}
	}
	for id := range w.own.list + 1 {
		if there, seen := lists[own][id], w.seen[id]; !slices.Equal(there, seen) {
			w.report.violation("events that came twice, out of order or not at all", "list %d: %v, of %v", id, seen, there)
		}
	}
}

// listLength is the number of operations on a list after which another one replaces it, which keeps lists short enough to read.
const listLength = 150

// history is what clients were told about lists of numbers, one list at a time. Clients append different numbers, so the final list shows
// their order. Together with the times this proves linearizability. It is safe for concurrent use.
type history struct {
	mu       sync.Mutex
	last     int64 // number that was given
	list     int
	used     int
	known    []int64 // of the present list: what was acknowledged or read, in that order
	accesses []*access
}

// access is an operation on a list.
type access struct {
	list      int
	before    []int64 // what was known of the list before the operation
	appended  []int64
	read      []int64
	succeeded bool // whether it took place; otherwise it may have, once
}

// do runs an operation that appends so many numbers to the present list. It leaves what it reads in the access.
func (h *history) do(numbers int, operate func(*access) error) error {
	a := h.begin(numbers)
	err := operate(a)
	if err == nil {
		h.succeed(a)
	}
	return err
}

// begin returns an access to the present list that appends so many numbers.
func (h *history) begin(numbers int) *access {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.used++; h.used > listLength {
		h.list, h.used, h.known = h.list+1, 1, nil
	}
	a := &access{list: h.list, before: slices.Clone(h.known)}
	for range numbers {
		h.last++
		a.appended = append(a.appended, h.last)
	}
	h.accesses = append(h.accesses, a)
	return a
}

// succeed ends an access that took place.
func (h *history) succeed(a *access) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a.succeeded = true
	for _, n := range slices.Concat(a.appended, a.read) {
		if a.list == h.list && !slices.Contains(h.known, n) {
			h.known = append(h.known, n)
		}
	}
}

// check compares what clients were told with the lists that are there in the end.
func (h *history) check(lists map[int][]int64, report *Report) {
	for _, a := range h.accesses {
		list := lists[a.list]
		isEarlier := func(n int64) bool { return slices.Contains(a.before, n) }
		for _, n := range a.appended {
			switch at := slices.Index(list, n); {
			case at < 0 && a.succeeded:
				report.violation("acknowledged writes that are not there", "%d in list %d", n, a.list)
			case at >= 0 && slices.Contains(list[at+1:], n):
				report.violation("writes that were done more than once", "%d in list %d", n, a.list)
			case at >= 0 && slices.ContainsFunc(list[at+1:], isEarlier):
				report.violation("writes that overtook earlier ones", "%d in list %d", n, a.list)
			}
		}
		if !a.succeeded || a.read == nil && len(a.appended) > 0 {
			continue
		}
		if slices.ContainsFunc(a.before, func(known int64) bool { return !slices.Contains(a.read, known) }) {
			report.violation("reads that lack what was there", "list %d: %v, after %v were known", a.list, a.read, a.before)
		}
		if len(a.read) > len(list) || !slices.Equal(a.read, list[:len(a.read)]) {
			report.violation("reads of what did not stay", "list %d: %v", a.list, a.read)
		}
	}
}
