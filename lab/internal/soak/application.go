package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.uber.org/goleak"

	"mongofork/lab/internal/clock"
)

const (
	// leavePatience bounds the time that a client's goroutines take to end after Disconnect.
	leavePatience = 10 * time.Second
	// pace is the least wait of a worker between two operations.
	pace = 50 * time.Millisecond
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
	report := newReport()
	done, err := a.run(ctx, report)
	if err != nil {
		return err
	}
	there, err := a.lists(ctx)
	if err != nil {
		return err
	}
	check(done, there, report)
	return json.NewEncoder(to).Encode(report)
}

// run lets a client work, and checks that nothing of the client is left.
func (a *Application) run(ctx context.Context, report *Report) ([]*job, error) {
	others := goleak.IgnoreCurrent()
	files, err := openFiles()
	if err != nil {
		return nil, err
	}
	client, err := mongo.Connect(options.Client().ApplyURI(a.URI))
	if err != nil {
		return nil, err
	}
	done, err := a.busy(ctx, client, report)
	err = errors.Join(err, client.Disconnect(context.WithoutCancel(ctx)))
	left := goleak.Find(others)
	for deadline := time.Now().Add(leavePatience); left != nil && time.Now().Before(deadline); left = goleak.Find(others) {
	}
	if open, _ := openFiles(); open > files {
		report.violation("connections that were leaked", "%d are open after Disconnect", open-files)
	}
	if left != nil {
		report.violation("goroutines that were leaked", "after Disconnect: %v", left)
	}
	return done, err
}

// busy does all jobs for the duration of the run.
func (a *Application) busy(ctx context.Context, client *mongo.Client, report *Report) (all []*job, err error) {
	session, err := client.StartSession()
	if err != nil {
		return nil, err
	}
	defer session.EndSession(context.WithoutCancel(ctx))
	db := client.Database(a.Database)
	for _, name := range []string{lists, inserted} {
		if err := db.CreateCollection(ctx, name); err != nil {
			return nil, err
		}
	}
	if err := clock.Wait(ctx, time.Until(a.Start)); err != nil {
		return nil, err
	}
	working, stop := context.WithTimeout(ctx, a.Duration)
	defer stop()
	var busy sync.WaitGroup
	for kind := range jobs {
		j := &job{kind: kind, db: db, report: report, session: session}
		all = append(all, j)
		busy.Go(func() {
			// The operation itself is not interrupted: a context with a deadline would put the driver's retries under a
			// client-side timeout.
			for clock.Wait(working, pace) == nil {
				j.once(context.WithoutCancel(ctx))
			}
		})
	}
	busy.Wait()
	return all, nil
}

// lists returns the lists that are there by their names, as the members themselves tell, and "inserted" with what transactions inserted.
func (a *Application) lists(ctx context.Context) (there map[string][]int64, err error) {
	client, err := mongo.Connect(options.Client().ApplyURI(a.Direct))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Disconnect(context.WithoutCancel(ctx))) }()
	there = map[string][]int64{}
	var found []list
	cursor, err := client.Database(a.Database).Collection(lists).Find(ctx, bson.D{})
	if err == nil {
		err = cursor.All(ctx, &found)
	}
	for _, l := range found {
		there[l.ID] = l.N
	}
	var documents []int64
	if err == nil {
		err = client.Database(a.Database).Collection(inserted).Distinct(ctx, "_id", bson.D{}).Decode(&documents)
	}
	there[inserted] = documents
	return there, err
}

// check compares the final lists with what the jobs were told.
func check(done []*job, there map[string][]int64, report *Report) {
	for _, j := range done {
		whole := map[int64]bool{}
		for i, h := range j.histories {
			h.check(there[j.name(i)], report)
			for _, n := range there[j.name(i)] {
				whole[n] = true
			}
		}
		for n := int64(1); n <= j.last && j.kind == "transaction"; n++ {
			if slices.Contains(there[inserted], n) != whole[n] {
				report.violation("transactions that are not whole", "%d is in a list or inserted, but not both", n)
			}
		}
	}
}

// openFiles returns how many files and connections this process has open.
func openFiles() (int, error) {
	files, err := os.ReadDir("/dev/fd")
	return len(files), err
}

// The collections: that of all jobs' lists, and that of the documents that transactions insert, one for each number. They are made before
// the work, because transactions would make them with difficulty.
const lists, inserted = "lists", "inserted"

// readBatch is small, so that a read by a cursor takes several getMore commands.
const readBatch = 20

// list is a document of numbers.
type list struct {
	ID string  `bson:"_id"`
	N  []int64 `bson:"n"`
}

// jobs are what an application does over and over, in turn: append a number to a list of the job's own, and read that list.
var jobs = map[string]struct {
	append, read func(*call, context.Context) (read []int64, err error)
}{
	"update": {(*call).push, (*call).read}, "bulk write": {(*call).bulkWrite, (*call).read},
	"findAndModify": {(*call).findAndModify, (*call).read}, "transaction": {(*call).transaction, (*call).read},
	"session": {(*call).push, (*call).readBatches},
}

// job is one that an application does.
type job struct {
	kind      string
	db        *mongo.Database
	report    *Report
	session   *mongo.Session // causally consistent
	calls     int            // so far
	last      int64
	histories []*history
}

// call is a call of a job.
type call struct {
	*job
	list   string // the present one
	number int64  // 0 for a call that reads
}

// name is that of the job's list of a number.
func (j *job) name(list int) string { return fmt.Sprint(j.kind, " ", list) }

// once makes the next call: every fourth one reads.
func (j *job) once(ctx context.Context) {
	if j.calls%listLength == 0 {
		j.histories = append(j.histories, &history{})
	}
	j.calls++
	present, run := len(j.histories)-1, jobs[j.kind].read
	c := &call{job: j, list: j.name(present)}
	if j.calls%4 > 0 {
		j.last++
		c.number, run = j.last, jobs[j.kind].append
	}
	if j.kind == "session" {
		ctx = mongo.NewSessionContext(ctx, j.session)
	}
	read, err := run(c, ctx)
	j.report.operation(j.kind, err)
	if err == nil && c.number > 0 {
		j.histories[present].succeed(c.number)
	}
	if err == nil && (c.number == 0 || read != nil) {
		j.histories[present].read(read, j.report)
	}
}

func (c *call) lists() *mongo.Collection { return c.db.Collection(lists) }
func (c *call) filter() bson.M           { return bson.M{"_id": c.list} }
func (c *call) appends() bson.M          { return bson.M{"$push": bson.M{"n": c.number}} }

// read reads the list, which may not be there yet.
func (c *call) read(ctx context.Context) ([]int64, error) {
	var found list
	lists := c.db.Collection(lists, options.Collection().SetReadConcern(readconcern.Linearizable()))
	err := lists.FindOne(ctx, c.filter()).Decode(&found)
	if errors.Is(err, mongo.ErrNoDocuments) {
		err = nil
	}
	return found.N, err
}

// push appends the number.
func (c *call) push(ctx context.Context) ([]int64, error) {
	_, err := c.lists().UpdateOne(ctx, c.filter(), c.appends(), options.UpdateOne().SetUpsert(true))
	return nil, err
}

// bulkWrite also sets another field.
func (c *call) bulkWrite(ctx context.Context) ([]int64, error) {
	result, err := c.lists().BulkWrite(ctx, []mongo.WriteModel{
		mongo.NewUpdateOneModel().SetFilter(c.filter()).SetUpdate(c.appends()).SetUpsert(true),
		mongo.NewUpdateOneModel().SetFilter(c.filter()).SetUpdate(bson.M{"$set": bson.M{"last": c.number}}),
	})
	if err == nil && result.ModifiedCount+result.UpsertedCount != 2 {
		c.report.violation("results that are wrong", "a bulk write of two updates: %+v", *result)
	}
	return nil, err
}

// findAndModify reads what it writes.
func (c *call) findAndModify(ctx context.Context) ([]int64, error) {
	var after list
	err := c.lists().FindOneAndUpdate(ctx, c.filter(), c.appends(),
		options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Decode(&after)
	return after.N, err
}

// transaction also inserts a document for the number.
func (c *call) transaction(ctx context.Context) ([]int64, error) {
	return nil, c.db.Client().UseSession(ctx, func(ctx context.Context) error {
		_, err := mongo.SessionFromContext(ctx).WithTransaction(ctx, func(ctx context.Context) (any, error) {
			if _, err := c.push(ctx); err != nil {
				return nil, err
			}
			return c.db.Collection(inserted).InsertOne(ctx, bson.M{"_id": c.number})
		})
		return err
	})
}

// readBatches reads what the session knows by a cursor at a secondary.
func (c *call) readBatches(ctx context.Context) (numbers []int64, err error) {
	lists := c.db.Collection(lists, options.Collection().SetReadPreference(readpref.Secondary()).SetReadConcern(readconcern.Majority()))
	cursor, err := lists.Aggregate(ctx, []bson.M{{"$match": c.filter()}, {"$unwind": "$n"}},
		options.Aggregate().SetBatchSize(readBatch))
	if err != nil {
		return nil, err
	}
	var found []struct{ N int64 }
	err = cursor.All(ctx, &found)
	for _, one := range found {
		numbers = append(numbers, one.N)
	}
	return numbers, err
}

// listLength is the number of calls on a list after which another one replaces it, which keeps lists short enough to read.
const listLength = 150

// history is what a job was told about one of its lists of numbers, to which it alone appends growing ones, in one call after the other.
type history struct {
	acknowledged, known []int64 // known is also what was read
	reads               [][]int64
}

// succeed notes a call that appended a number.
func (h *history) succeed(n int64) {
	h.acknowledged, h.known = append(h.acknowledged, n), append(h.known, n)
}

// read notes what a call read, in which all that is known has to be.
func (h *history) read(numbers []int64, report *Report) {
	if slices.ContainsFunc(h.known, func(known int64) bool { return !slices.Contains(numbers, known) }) {
		report.violation("reads that lack what was there", "%v, after %v were known", numbers, h.known)
	}
	news := slices.DeleteFunc(slices.Clone(numbers), func(n int64) bool { return slices.Contains(h.known, n) })
	h.known, h.reads = append(h.known, news...), append(h.reads, numbers)
}

// check compares that with the list that is there in the end.
func (h *history) check(there []int64, report *Report) {
	highest := int64(0)
	for i, n := range there {
		acknowledged := slices.Contains(h.acknowledged, n)
		switch {
		case slices.Contains(there[:i], n):
			report.violation("writes that were done more than once", "%d in %v", n, there)
		case acknowledged && n < highest: // the higher one was sent after this one had been acknowledged
			report.violation("writes that overtook earlier ones", "%d after %d in %v", n, highest, there)
		}
		highest = max(highest, n)
	}
	for _, n := range h.acknowledged {
		if !slices.Contains(there, n) {
			report.violation("acknowledged writes that are not there", "%d in %v", n, there)
		}
	}
	for _, read := range h.reads {
		if len(read) > len(there) || !slices.Equal(read, there[:len(read)]) {
			report.violation("reads of what did not stay", "%v of %v", read, there)
		}
	}
}
