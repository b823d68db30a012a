package fork

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

// AcceptOptions chooses what Accept records in the lock.
type AcceptOptions struct {
	// Keys are the declarations whose present fingerprints are accepted.
	Keys []syntax.Key
	// All accepts every touched and watched declaration.
	All bool
	// Specifications, if not empty, becomes the lock's specification commit.
	Specifications string
}

// Accepted is the lock after Accept.
type Accepted struct {
	*Lock
	// Open are the disagreements with the overlay that remain; the output's
	// hash is recorded when there is none.
	Open problem.List
}

// Accept records upstream's present declarations, and the hash of the output if
// the overlay then builds. An entry that no directive names any more is removed
// when it is accepted.
func (p *Project) Accept(ctx context.Context, opt AcceptOptions) (*Accepted, error) {
	lock, err := p.ReadLock()
	if err != nil {
		return nil, err
	}
	plan, problems, err := p.match(ctx, lock)
	if err != nil {
		return nil, err
	}
	if err := problems.OrNil(); err != nil {
		return nil, err
	}
	now := plan.fingerprints()
	if err := knownKeys(opt.Keys, now, lock.Entries); err != nil {
		return nil, err
	}
	lock.accept(now, opt)
	if opt.Specifications != "" {
		lock.Specifications = opt.Specifications
	}
	open := lock.check(plan, p.LockFile(), true)
	if len(open) == 0 {
		a, err := Assemble(plan)
		if err != nil {
			return nil, err
		}
		if lock.Output, err = a.Tree.Hash(""); err != nil {
			return nil, err
		}
	}
	return &Accepted{lock, open}, p.writeLock(lock)
}

// accept takes over the present fingerprints of the chosen entries.
func (l *Lock) accept(now map[Entry]syntax.Fingerprint, opt AcceptOptions) {
	accepted := func(e Entry) bool { return opt.All || slices.Contains(opt.Keys, e.Key) }
	for e := range l.Entries {
		if _, still := now[e]; !still && accepted(e) {
			delete(l.Entries, e)
		}
	}
	for e, hash := range now {
		if accepted(e) {
			l.Entries[e] = hash
		}
	}
}

// fingerprints returns the entries that the plan's directives ask for.
func (p *Plan) fingerprints() map[Entry]syntax.Fingerprint {
	now := map[Entry]syntax.Fingerprint{}
	for _, t := range p.Touches {
		now[Entry{t.How, t.Key}] = t.Hash
	}
	for _, r := range p.Removed {
		now[Entry{syntax.Remove, r.Key}] = r.Hash
	}
	for _, w := range p.Watched {
		now[Entry{syntax.Watch, w.Key}] = w.Hash
	}
	return now
}

// knownKeys reports keys that neither a directive nor the lock names.
func knownKeys(keys []syntax.Key, sets ...map[Entry]syntax.Fingerprint) error {
	var errs []error
	for _, key := range keys {
		known := slices.ContainsFunc(sets, func(set map[Entry]syntax.Fingerprint) bool {
			for e := range set {
				if e.Key == key {
					return true
				}
			}
			return false
		})
		if !known {
			errs = append(errs, fmt.Errorf("%s is neither touched nor watched, nor in the lock (go run ./tools/cmd/mongofork status lists what is)", key))
		}
	}
	return errors.Join(errs...)
}

// NewLockOptions says what a new lock begins with.
type NewLockOptions struct {
	// Module is the path of the upstream module.
	Module string
	// From is the base whose unchanged entries are taken over; none if empty,
	// or if it has no lock.
	From string
	// Specifications is the specification commit of the new base, if known.
	Specifications string
}

// NewLock records a base that has no lock yet: the hashes and the go directive
// of the module at that version. Fingerprints that are the same as in the lock
// of opt.From are taken over; the others stay to be reviewed and accepted.
func (p *Project) NewLock(ctx context.Context, opt NewLockOptions) (*Lock, error) {
	if err := p.checkBase(); err != nil {
		return nil, err
	}
	if p.hasLock() {
		return nil, problem.List{{File: p.LockFile(), Message: "the lock exists already", Mend: "go run ./tools/cmd/mongofork accept --all, or remove the file first"}}
	}
	m, err := p.Source.Module(ctx, opt.Module, p.Base)
	if err != nil {
		return nil, err
	}
	lock := &Lock{Module: opt.Module, Version: p.Base, Specifications: opt.Specifications, Entries: map[Entry]syntax.Fingerprint{}}
	if lock.Sum, lock.GoModSum, err = m.Sums(); err != nil {
		return nil, err
	}
	if lock.Go, err = m.GoVersion(); err != nil {
		return nil, err
	}
	if problems, err := verifyModule(m, lock, p.LockFile()); err != nil || len(problems) > 0 {
		return nil, errors.Join(err, problems.OrNil())
	}
	if err := p.carryOver(lock, m, opt.From); err != nil {
		return nil, err
	}
	return lock, p.writeLock(lock)
}

// carryOver takes from another base's lock what is unchanged in m.
func (p *Project) carryOver(lock *Lock, m *upstream.Module, from string) error {
	other := Project{Root: p.Root, Base: from}
	if from == "" || !other.hasLock() {
		return nil
	}
	previous, err := other.ReadLock()
	if err != nil {
		return err
	}
	for e, hash := range previous.Entries {
		found, err := m.Lookup(e.Key)
		if err != nil {
			return err
		}
		if len(found) > 0 && syntax.FingerprintOf(found...) == hash {
			lock.Entries[e] = hash
		}
	}
	return nil
}

func (p *Project) writeLock(lock *Lock) error {
	return filetree.Replace(filepath.Join(p.Root, filepath.FromSlash(p.LockFile())), lock.Format())
}
