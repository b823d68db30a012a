package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
)

// workforce holds the workers of a run.
type workforce struct {
	jobs []job

	inserters    []*inserter
	updaters     []*worker
	transactors  []*worker
	bulkers      []*bulker
	modifiers    []*modifier
	transferrers []*transferrer
	filers       []*filer
	causals      []*causal
	registers    *registers
	watcher      *watcher
}

// job is a worker's repeated task.
type job struct {
	worker  *worker
	kind    string
	operate func(context.Context) error
}

func (f *workforce) hire(w *worker, kind string, operate func(context.Context) error) {
	f.jobs = append(f.jobs, job{w, kind, operate})
}

func (r *run) worker(kind string, i int) worker {
	return worker{
		name: fmt.Sprintf("%s %d", kind, i), client: r.client, database: r.config.Database, pace: r.config.Pace, report: r.report,
		stream: &stream{},
	}
}

// assemble makes the workers. Those of the second half need real members: a simulated replica set has no secondaries that lag,
// and its server may not know snapshots.
func (r *run) assemble() error {
	f := &r.work
	f.watcher = &watcher{worker: r.worker("watcher", 0), seen: make(map[string][]int64)}
	f.registers = newRegisters()
	for i := range r.config.Workers {
		if err := r.hireWriters(i); err != nil {
			return err
		}
		if r.real() {
			r.hireCritics(i)
		}
	}
	return nil
}

func (r *run) hireWriters(i int) error {
	f := &r.work
	insert := &inserter{worker: r.worker("inserter", i)}
	var err error
	if insert.session, err = r.client.StartSession(); err != nil {
		return err
	}
	update, transact := r.worker("updater", i), r.worker("transactor", i)
	read := &reader{worker: r.worker("reader", i), writer: insert}
	f.inserters = append(f.inserters, insert)
	f.updaters, f.transactors = append(f.updaters, &update), append(f.transactors, &transact)
	f.hire(&insert.worker, "insert", insert.insert)
	f.hire(&update, "update", update.push)
	f.hire(&transact, "transaction", transact.transact)
	f.hire(&read.worker, "cursor", read.read)
	return nil
}

func (r *run) hireCritics(i int) {
	f := &r.work
	bulk := &bulker{worker: r.worker("bulker", i), pushes: &stream{}}
	modify := &modifier{worker: r.worker("modifier", i)}
	move := &transferrer{worker: r.worker("transferrer", i), random: rand.New(rand.NewPCG(r.config.Seed, uint64(i)))}
	audit := &auditor{worker: r.worker("auditor", i)}
	follow := &causal{worker: r.worker("causal", i)}
	file := &filer{worker: r.worker("filer", i), seed: r.config.Seed}
	file.pace *= 4 // a file is many operations
	f.bulkers, f.modifiers = append(f.bulkers, bulk), append(f.modifiers, modify)
	f.transferrers, f.filers, f.causals = append(f.transferrers, move), append(f.filers, file), append(f.causals, follow)
	f.hire(&bulk.worker, "bulk write", bulk.write)
	f.hire(&modify.worker, "findAndModify", modify.modify)
	f.hire(&move.worker, "transfer", move.transfer)
	f.hire(&audit.worker, "snapshot", audit.audit)
	f.hire(&follow.worker, "causal session", follow.step)
	f.hire(&file.worker, "file", file.store)
	for k := range 2 {
		number := 2*i + k
		use := &accessor{
			worker: r.worker("accessor", number), registers: f.registers, number: number,
			random: rand.New(rand.NewPCG(r.config.Seed+1, uint64(number))),
		}
		f.hire(&use.worker, "register", use.access)
	}
}

// start starts all jobs. They end with the context.
func (f *workforce) start(ctx context.Context) *sync.WaitGroup {
	var workers sync.WaitGroup
	for _, j := range f.jobs {
		workers.Go(func() { j.worker.repeat(ctx, j.kind, j.operate) })
	}
	return &workers
}

// dismiss ends the workers' sessions.
func (f *workforce) dismiss(ctx context.Context) {
	for _, w := range f.inserters {
		w.session.EndSession(ctx)
	}
	for _, w := range f.causals {
		w.end(ctx)
	}
}

// streams returns the streams of a collection, by worker.
func streams[W interface{ numbered() (string, *stream) }](workers []W) map[string]*stream {
	found := make(map[string]*stream)
	for _, w := range workers {
		name, s := w.numbered()
		found[name] = s
	}
	return found
}

func (w *worker) numbered() (string, *stream) { return w.name, w.stream }
