// Package soak repeatedly disturbs an application that records what the driver told it, and finally compares that with what is on
// the server.
package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/deployment"
	"mongofork/lab/internal/members"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/topology"
)

const (
	fronts        = 3
	electionDelay = 200 * time.Millisecond
	// patience bounds the operations in progress at the end.
	patience = 60 * time.Second
	// leavePatience bounds a client's clean-up after Disconnect.
	leavePatience = 10 * time.Second
	// impatient makes a client notice within seconds that a member no longer answers.
	impatient = "&heartbeatFrequencyMS=500&connectTimeoutMS=3000&serverSelectionTimeoutMS=20000"
)

// Config configures a run.
type Config struct {
	Seed     uint64        `json:"seed"`
	Duration time.Duration `json:"duration"`
	// Workers is the number of workers of each kind, Pace the minimum wait of each between two operations; 0 stands for 10 ms.
	Workers int           `json:"workers"`
	Pace    time.Duration `json:"pace"`
	// Backend is the connection string of the server behind the lab, or of the members. The database is dropped.
	Backend  string `json:"backend"`
	Database string `json:"database"`
	// Members are the real members of the replica set, which the caller disturbs by RealPlan; without any the lab simulates a
	// replica set on the one server.
	Members []Member `json:"members,omitempty"`
	SetName string   `json:"setName,omitempty"`
	// Start is the plan's start; the zero time stands for now.
	Start time.Time `json:"start"`
	// Adaptive sets adaptiveRetries, and Throttling adaptiveThrottling. A driver that does not know them ignores them.
	Adaptive   bool `json:"adaptive"`
	Throttling bool `json:"throttling,omitempty"`
	// Progress receives a line for each event.
	Progress io.Writer `json:"-"`
}

// Member is a real member.
type Member struct {
	// Host is its name in the set's configuration, Address its own address.
	Host    string `json:"host"`
	Address string `json:"address"`
}

// run is a run in progress.
type run struct {
	config   Config
	report   *Report
	attempts *Attempts
	commits  *commitGate
	client   *mongo.Client
	dialer   *dialer
	work     workforce
}

// Run runs the soak, and returns its findings. The error is for a run that failed.
func Run(ctx context.Context, config Config) (*Report, error) {
	if config.Pace == 0 {
		config.Pace = pace
	}
	if config.Database == "" {
		config.Database = "soak"
	}
	r := &run{config: config, report: newReport(), attempts: &Attempts{}, commits: &commitGate{}, dialer: &dialer{}}
	l, err := r.openLab()
	if err != nil {
		return nil, err
	}
	labCtx, stopLab := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- l.Run(labCtx) }()
	if err = pastTheLab(ctx, config.Backend, r.prepare); err != nil {
		err = fmt.Errorf("prepare the server behind the lab: %w", err)
	} else {
		err = r.run(ctx, l)
	}
	if err == nil {
		err = pastTheLab(ctx, config.Backend, r.verify)
	}
	stopLab()
	return r.report, errors.Join(err, <-ended)
}

// openLab returns a lab before the members, or before the one server.
func (r *run) openLab() (*deployment.Lab, error) {
	config := deployment.Config{
		Observers: []proxy.Handler{r.attempts, r.commits}, Logger: slog.New(slog.DiscardHandler),
	}
	if !r.real() {
		backend, err := proxy.ParseBackend(r.config.Backend)
		if err != nil {
			return nil, err
		}
		config.Topology = topology.Spec{Kind: topology.ReplicaSet, Members: fronts}
		config.Options, config.Backend = topology.Options{ElectionDelay: electionDelay}, backend
		return deployment.Open(config)
	}
	var found []members.Member
	for _, m := range r.config.Members {
		found = append(found, members.Member{Host: m.Host, Backend: proxy.BackendAt(m.Address, nil)})
	}
	set, err := members.New(r.config.SetName, r.config.Backend, found)
	if err != nil {
		return nil, err
	}
	config.Topology, config.Members = topology.Spec{Kind: topology.Members}, set
	return deployment.Open(config)
}

func (r *run) real() bool { return len(r.config.Members) > 0 }

// pastTheLab calls a function with a client of the server itself.
func pastTheLab(ctx context.Context, uri string, do func(context.Context, *mongo.Client) error) error {
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		return err
	}
	err = do(ctx, client)
	return errors.Join(err, client.Disconnect(context.WithoutCancel(ctx)))
}

// prepare makes the accounts, and collections, which transactions cannot make on some servers.
func (r *run) prepare(ctx context.Context, direct *mongo.Client) error {
	db := direct.Database(r.config.Database)
	if err := db.Drop(ctx); err != nil {
		return err
	}
	for _, name := range []string{
		"inserts", "updates", "entries", "totals", "bulks", "modified", "accounts", "transfers", "causal", "registers",
	} {
		if err := db.CreateCollection(ctx, name); err != nil {
			return err
		}
	}
	var all []account
	for i := range accounts {
		all = append(all, account{ID: i, Balance: initialBalance})
	}
	_, err := db.Collection("accounts").InsertMany(ctx, all)
	return err
}

// plan returns the events that this run has to carry out.
func (r *run) plan() []Event {
	if !r.real() {
		return Plan(r.config.Seed, r.config.Duration, fronts)
	}
	var events []Event
	for _, e := range RealPlan(r.config.Seed, r.config.Duration, len(r.config.Members)) {
		if !e.OfMember() || e.Action == CommitKill {
			events = append(events, e)
		}
	}
	return events
}

// run lets the client work while the plan is carried out, and checks that nothing of the client is left.
func (r *run) run(ctx context.Context, l *deployment.Lab) error {
	disturb := &chaos{lab: l, commits: r.commits}
	uri := l.Endpoints()[0].URI
	if r.real() {
		uri += impatient
	}
	if r.config.Adaptive {
		uri += "&adaptiveRetries=true"
	}
	if r.config.Throttling {
		uri += "&adaptiveThrottling=true"
	}
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetDialer(r.dialer))
	if err != nil {
		return err
	}
	r.client = client
	err = r.workWhile(ctx, func(ctx context.Context) error {
		return disturb.run(ctx, r.plan(), func(e Event) { fmt.Fprintf(r.config.Progress, "  %v\n", e) })
	})
	if disconnectErr := r.client.Disconnect(context.WithoutCancel(ctx)); err == nil {
		err = disconnectErr
	}
	r.awaitNothingLeft()
	r.report.Held = r.commits.held.Load()
	return err
}

// workWhile runs all workers for the duration of the run, and then lets them finish.
func (r *run) workWhile(ctx context.Context, disturb func(context.Context) error) error {
	if err := r.assemble(); err != nil {
		return err
	}
	watch := r.work.watcher
	stream, err := watch.open(ctx)
	if err != nil {
		return fmt.Errorf("open the change stream: %w", err)
	}
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWatching()
	watched := make(chan error, 1)
	go func() { watched <- watch.follow(watching, stream) }()

	if err := (clock.System{}).Wait(ctx, time.Until(r.config.Start)); err != nil {
		return err
	}
	working, stop := context.WithTimeout(ctx, r.config.Duration)
	defer stop()
	workers := r.work.start(working)
	chaosErr := disturb(working)
	workers.Wait()
	r.work.dismiss(ctx)

	if err := r.last(ctx); err != nil {
		return errors.Join(chaosErr, fmt.Errorf("insert the last document: %w", err))
	}
	timer := time.AfterFunc(patience, stopWatching)
	defer timer.Stop()
	if err := <-watched; err != nil {
		r.report.violation("change streams that end early", "%v", err)
	}
	return chaosErr
}

// last inserts the document that ends the change stream. It insists, because an error must not look like a stream that ended.
func (r *run) last(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	collection := r.client.Database(r.config.Database).Collection("inserts")
	return insist(ctx, insistence, func() error {
		_, err := collection.UpdateOne(ctx, bson.D{{Key: "worker", Value: lastWorker}},
			bson.D{{Key: "$set", Value: bson.D{{Key: "n", Value: 1}}}}, options.UpdateOne().SetUpsert(true))
		return err
	})
}

// awaitNothingLeft waits for the driver's goroutines and the client's connections to end, which takes a moment.
func (r *run) awaitNothingLeft() {
	deadline := time.Now().Add(leavePatience)
	for (len(driverGoroutines()) > 0 || r.dialer.open.Load() > 0) && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
	}
	goroutines, connections := driverGoroutines(), r.dialer.open.Load()
	if connections > 0 {
		r.report.violation("connections that were leaked", "%d are open after Disconnect", connections)
	}
	for _, stack := range goroutines {
		r.report.violation("goroutines that were leaked", "after Disconnect:\n%s", stack)
	}
	r.report.note("%d connections and %d goroutines of the driver were left after Disconnect", connections, len(goroutines))
}

// driverGoroutines returns the stacks of the driver's goroutines.
func driverGoroutines() []string {
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var found []string
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, "go.mongodb.org/mongo-driver/v2/x/mongo/driver") {
			found = append(found, stack)
		}
	}
	return found
}
